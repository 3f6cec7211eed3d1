package qp_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

// The table of ibv_post_send(3), without SEND_WITH_INV on UC.
func TestOpcodesATypeTakes(t *testing.T) {
	connected := []qp.WROpcode{qp.WRSend, qp.WRSendImm, qp.WRWrite, qp.WRWriteImm, qp.WRLocalInv,
		qp.WRBindMW, qp.WRRegMR}
	allowed := map[qp.Type][]qp.WROpcode{
		qp.RC: append([]qp.WROpcode{qp.WRRead, qp.WRCmpSwap, qp.WRFetchAdd, qp.WRSendInv, qp.WRFlush, qp.WRAtomicWrite},
			connected...),
		qp.UC:  connected,
		qp.UD:  {qp.WRSend, qp.WRSendImm},
		qp.GSI: {qp.WRSend, qp.WRSendImm},
	}
	for _, typ := range allTypes {
		for o := qp.WROpcode(0); o < 40; o++ {
			q := &qp.QP{Type: typ, Attr: qp.Attr{State: qp.RTS}}
			wr := &qp.SendWR{Opcode: o, SGList: []qp.SGE{{Length: 8}}, AH: &handle{}}
			if o.IsLocal() || o == qp.WRFlush {
				wr = &qp.SendWR{Opcode: o, Bind: &mr.Bind{}, Reg: &mr.FastReg{},
					Flush: qp.Flush{Type: qp.FlushToGlobal}, AH: wr.AH}
			}
			want := slices.Contains(allowed[typ], o)
			err := q.CheckPost(wr)
			if (err == nil) != want || o.Allowed(typ) != want {
				t.Errorf("%v on %v: %v", o, typ, err)
			}
			if err != nil && !errors.Is(err, qp.ErrBadWR) {
				t.Errorf("%v on %v: %v is not ErrBadWR", o, typ, err)
			}
		}
	}
}

func TestStatesThatTakeWork(t *testing.T) {
	for _, c := range []struct {
		state      qp.State
		send, recv bool
	}{
		{qp.RESET, false, false}, {qp.INIT, false, true}, {qp.RTR, false, true}, {qp.RTS, true, true},
		{qp.SQD, true, true}, {qp.SQE, true, true}, {qp.ERR, true, true}, {qp.State(7), false, true},
	} {
		q := &qp.QP{Type: qp.RC, Recv: qp.NewRecvQueue(nil, 1, 1), Attr: qp.Attr{State: c.state}}
		err := q.CheckPost(&qp.SendWR{Opcode: qp.WRSend})
		if (err == nil) != c.send || err != nil &&
			(!errors.Is(err, qp.ErrBadState) || !strings.Contains(err.Error(), c.state.String())) {
			t.Errorf("send in %v: %v", c.state, err)
		}
		err = q.CheckPostRecv()
		if (err == nil) != c.recv || err != nil && !errors.Is(err, qp.ErrBadState) {
			t.Errorf("receive in %v: %v", c.state, err)
		}
	}
}

func TestCheckPostHoldsTheRulesOfTheOpcode(t *testing.T) {
	sg := func(lengths ...uint32) (s []qp.SGE) {
		for _, n := range lengths {
			s = append(s, qp.SGE{Length: n})
		}
		return s
	}
	for _, c := range []struct {
		name string
		typ  qp.Type
		wr   qp.SendWR
		want string // empty: success
	}{
		{"inline send", qp.RC, qp.SendWR{Opcode: qp.WRSend, Flags: qp.Inline, InlineData: []byte("x")}, ""},
		{"inline read", qp.RC, qp.SendWR{Opcode: qp.WRRead, Flags: qp.Inline}, "RDMA_READ has no data to send inline"},
		{"inline atomic", qp.RC, qp.SendWR{Opcode: qp.WRFetchAdd, Flags: qp.Inline, InlineData: make([]byte, 8)},
			"no data to send inline"},
		{"atomic of 8 bytes", qp.RC, qp.SendWR{Opcode: qp.WRCmpSwap, SGList: sg(8)}, ""},
		{"atomic in two pieces", qp.RC, qp.SendWR{Opcode: qp.WRCmpSwap, SGList: sg(4, 4)}, ""},
		{"atomic of 4 bytes", qp.RC, qp.SendWR{Opcode: qp.WRCmpSwap, SGList: sg(4)}, "requires exactly 8 bytes, got 4"},
		{"atomic write inline", qp.RC,
			qp.SendWR{Opcode: qp.WRAtomicWrite, Flags: qp.Inline, InlineData: make([]byte, 8)}, ""},
		{"atomic write of 9 bytes", qp.RC, qp.SendWR{Opcode: qp.WRAtomicWrite, SGList: sg(9)},
			"requires exactly 8 bytes, got 9"},
		{"atomic write without data", qp.RC, qp.SendWR{Opcode: qp.WRAtomicWrite}, "requires exactly 8 bytes, got 0"},
		{"flush with data", qp.RC, qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Type: 1}, SGList: sg(8)},
			"FLUSH has no data and takes no SGEs, not 1"},
		{"flush of both types, whole region", qp.RC,
			qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Type: 3, Level: qp.FlushRegion}}, ""},
		{"flush without a type", qp.RC, qp.SendWR{Opcode: qp.WRFlush}, "flush of type 0x0"},
		{"flush of an unknown type", qp.RC, qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Type: 5}},
			"flush of type 0x5"},
		{"flush of an unknown level", qp.RC, qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Type: 1, Level: 2}},
			"flush of level 2"},
		{"flush of too much", qp.RC, qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Type: 1, Length: 1<<31 + 1}},
			"flush of 2147483649 bytes"},
		{"flush of the largest message", qp.RC,
			qp.SendWR{Opcode: qp.WRFlush, Flush: qp.Flush{Type: 1, Length: 1 << 31}}, ""},
		{"bind without a window", qp.RC, qp.SendWR{Opcode: qp.WRBindMW}, "BIND_MW needs Bind"},
		{"registration without a region", qp.RC, qp.SendWR{Opcode: qp.WRRegMR}, "REG_MR needs Reg"},
		{"invalidation with data", qp.UC, qp.SendWR{Opcode: qp.WRLocalInv, SGList: sg(0)}, "LOCAL_INV has no data"},
		{"invalidation inline", qp.RC, qp.SendWR{Opcode: qp.WRLocalInv, Flags: qp.Inline},
			"LOCAL_INV has no data to send inline"},
		{"datagram with a way", qp.UD, qp.SendWR{Opcode: qp.WRSend, AH: &handle{}}, ""},
		{"datagram without a way", qp.UD, qp.SendWR{Opcode: qp.WRSend}, "requires AH"},
		{"datagram by a way of another domain", qp.UD, qp.SendWR{Opcode: qp.WRSend, AH: &handle{Domain: &mr.PD{ID: 9}}},
			"protection domain"},
		{"datagram to no queue pair", qp.UD, qp.SendWR{Opcode: qp.WRSend, AH: &handle{}, RemoteQPN: 1 << 24},
			"0x1000000 does not fit"},
		{"datagram to a group", qp.UD,
			qp.SendWR{Opcode: qp.WRSend, AH: &handle{Group: true}, RemoteQPN: bth.MulticastQPN}, ""},
		{"datagram to one queue pair of a group", qp.UD,
			qp.SendWR{Opcode: qp.WRSend, AH: &handle{Group: true}, RemoteQPN: 17}, "which takes 0xffffff"},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &qp.QP{Type: c.typ, Attr: qp.Attr{State: qp.RTS}}
			err := q.CheckPost(&c.wr)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
