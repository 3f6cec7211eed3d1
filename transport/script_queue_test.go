package transport

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/qp"
)

// Steps for queues and states:
//
//	event COMM_EST       the machine raises this event, before the packets it sends then
//	srq depth=8 limit=2  receives come from an SRQ
//	srq-limit 2          arms the limit of the SRQ
//	ring                 receives come from a source of the test
//	sends depth=2        sends come from a source of the test; depth of the send queue
//	retired 3            number of slots of it that are free again
//	recv-len 3           number of receives left in the source
//	modify SQD [notify]  moves the queue pair to a state, with SQD_ASYNC_NOTIFY or not
//	modify timeout=20    changes attributes only; with a state before them, both
//	modify+ ...          the same, but the machine may send only after the next step
//	trains               the link has segmentation offload from now on
//	share limit=4 turn=2 the queue pair becomes a member of a share
//	others 3             outstanding PSNs of its other members
//	members 2            number of its members
//	hold                 holds the pending ACK, which must be all that there is to send
//	blocked true         whether the last Transmit stopped because it has no room
func (s *script) queueStep(verb, rest string) bool {
	s.t.Helper()
	f := fields(strings.Fields(rest))
	switch verb {
	case "srq":
		srq := qp.NewSRQ(s.qp.PD, int(f.num("depth")), 4)
		srq.Events, s.qp.Recv = events{s}, srq
		s.armSRQ(int(f.num("limit")))
	case "srq-limit":
		s.armSRQ(int(fields([]string{"n=" + rest}).num("n")))
	case "ring":
		s.qp.Recv = &foreignRing{pd: s.qp.PD}
	case "sends":
		s.sends = &sendRing{}
		s.qp.SQ = qp.NewSendQueue(int(f.num("depth")), 4, false)
		s.qp.SQ.SetSource(s.sends)
	case "retired":
		if n := fields([]string{"n=" + rest}).num("n"); n != uint64(s.sends.consumer) {
			s.fatalf("%d are", s.sends.consumer)
		}
	case "recv-len":
		if got := s.qp.Recv.Len(); uint64(got) != fields([]string{"n=" + rest}).num("n") {
			s.fatalf("there are %d", got)
		}
	case "trains":
		s.batch.LinkHasGSO = true
	case "share":
		s.rc.(*RC).Join(NewShare(int(f.num("limit")), int(f.num("turn"))))
	case "others":
		share := s.rc.(*RC).req.share
		share.used = s.rc.(*RC).req.inShare + uint32(fields([]string{"n=" + rest}).num("n"))
	case "members":
		s.rc.(*RC).req.share.members = int(fields([]string{"n=" + rest}).num("n"))
	case "hold":
		if !s.rc.(*RC).HoldACK() {
			s.fatalf("there is more to send than an ACK")
		}
	case "blocked":
		if got := fmt.Sprint(s.rc.(*RC).Blocked()); got != rest {
			s.fatalf("it is %s", got)
		}
	case "modify", "modify+":
		s.modify(rest)
	default:
		return false
	}
	return true
}

// events turns asynchronous events into lines of the script.
type events struct{ s *script }

func (e events) Event(t qp.EventType) { e.s.got = append(e.s.got, "event "+t.Name()) }

func (s *script) armSRQ(limit int) {
	s.t.Helper()
	if err := s.qp.Recv.(*qp.SRQ).Modify(qp.SRQAttr{Limit: limit}, qp.SRQLimit); err != nil {
		s.fatalf("%v", err)
	}
}

func (s *script) recv(f args) {
	s.t.Helper()
	wr := &qp.RecvWR{ID: f.num("id"),
		SGList: []qp.SGE{{Addr: 0x20000, Length: uint32(f.num("len")), LKey: s.regions["rw"].LKey()}}}
	if f.has("badkey") {
		wr.SGList[0].LKey ^= 0x55
	}
	if key, ok := s.key(f["lkey"]); ok {
		wr.SGList[0].Addr, wr.SGList[0].LKey = f.num("at"), key
	}
	if err := s.qp.Recv.(interface{ Push(*qp.RecvWR) error }).Push(wr); err != nil {
		s.fatalf("%v", err)
	}
	if !s.qp.Recv.Shared() {
		s.rc.Posted()
	}
}

// modify calls Modify, as ibv_modify_qp does.
func (s *script) modify(rest string) {
	s.t.Helper()
	a, mask := qp.Attr{}, qp.AttrMask(0)
	for _, w := range strings.Fields(rest) {
		name, _, _ := strings.Cut(w, "=")
		n := fields([]string{w}).num(name)
		switch name {
		case "notify":
			a.SQDAsyncNotify, mask = true, mask|qp.AttrSQDAsyncNotify
		case "timeout":
			a.Timeout, mask = uint8(n), mask|qp.AttrTimeout
		case "retry":
			a.RetryCnt, mask = uint8(n), mask|qp.AttrRetryCnt
		case "rnr-retry":
			a.RNRRetry, mask = uint8(n), mask|qp.AttrRNRRetry
		case "rd-atomic":
			a.MaxRdAtomic, mask = uint8(n), mask|qp.AttrMaxRdAtomic
		case "dest-rd-atomic":
			a.MaxDestRdAtomic, mask = uint8(n), mask|qp.AttrMaxDestRdAtomic
		default:
			for st := qp.RESET; st.Valid(); st++ {
				if st.String() == name {
					a.State, mask = st, mask|qp.AttrState
				}
			}
		}
	}
	if err := s.qp.Modify(&a, mask); err != nil {
		s.fatalf("%v", err)
	}
	s.rc.Modified(s.now)
}
