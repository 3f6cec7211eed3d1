package verbs_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// A strand is a connection between two nodes with its own completion queues and a part of their
// buffers.
type strand struct {
	node   [2]*verbstest.Node // the client and the server
	qp     [2]*verbs.QP
	cq     [2]*verbs.CQ
	at     int
	window *verbs.MW // of the server
}

const strandSize = 16 << 10

func newStrand(t testing.TB, nodes [2]*verbstest.Node, at int) *strand {
	t.Helper()
	s := &strand{node: nodes, at: at}
	var infos [2]verbs.ConnInfo
	for i, n := range nodes {
		var err error
		if s.cq[i], err = n.Device.CreateCQ(64); err != nil {
			t.Fatal(err)
		}
		if s.qp[i], err = n.PD.CreateQP(verbs.QPInitAttr{SendCQ: s.cq[i], Cap: verbstest.Cap}); err != nil {
			t.Fatal(err)
		}
		if infos[i], err = s.qp[i].Local(0, 0); err != nil {
			t.Fatal(err)
		}
	}
	verbstest.ConnectQPs(t, s.qp[0], s.qp[1], infos[0], infos[1])
	s.window = nodes[1].Window(verbs.MWType2)
	return s
}

// does posts a request at one end and takes its completion.
func (s *strand) does(end int, wr *verbs.SendWR) error {
	wr.Flags |= verbs.Signaled
	if err := s.qp[end].PostSend(wr); err != nil {
		return err
	}
	return s.completes(end, wr.Opcode.String())
}

func (s *strand) completes(end int, what string) error {
	var wc [1]verbs.WC
	if _, err := s.cq[end].Wait(s.node[end].Context(), wc[:]); err != nil {
		return err
	}
	if wc[0].Status != verbs.WCSuccess {
		return fmt.Errorf("%s at %d ends with %v", what, s.at, wc[0].Status)
	}
	return nil
}

// round binds a window in the server's memory, writes through it, invalidates it from the peer
// and reads back what was written.
func (s *strand) round(region *verbs.MR, memory []byte, number byte) error {
	client, part := s.node[0], memory[s.at:][:strandSize]
	addr := region.Addr() + uint64(s.at)
	if err := s.does(1, &verbs.SendWR{Opcode: verbs.WRBindMW,
		Bind: s.window.Bind(region, addr, strandSize, verbs.RemoteWrite|verbs.RemoteRead)}); err != nil {
		return err
	}
	for i := range part {
		client.Buf[s.at+i] = number + byte(i)
	}
	sge := []verbs.SGE{client.MR.SGE(s.at, strandSize)}
	key := s.window.RKey()
	if err := s.does(0, &verbs.SendWR{Opcode: verbs.WRWrite, SGList: sge, RemoteAddr: addr, RKey: key}); err != nil {
		return err
	}
	s.qp[0].State() // see Node.Fence
	clear(client.Buf[s.at:][:strandSize])
	s.qp[0].State()
	if err := s.does(0, &verbs.SendWR{Opcode: verbs.WRRead, SGList: sge, RemoteAddr: addr, RKey: key}); err != nil {
		return err
	}
	if err := s.qp[1].PostRecv(&verbs.RecvWR{}); err != nil {
		return err
	}
	// The WRITE stores the same data again. It is posted so that the SEND may overtake a part of
	// it.
	again := &verbs.SendWR{Opcode: verbs.WRWrite, SGList: sge, RemoteAddr: addr, RKey: key}
	if err := s.qp[0].PostSend(again,
		&verbs.SendWR{Opcode: verbs.WRSendInv, Imm: key, Flags: verbs.Signaled}); err != nil {
		return err
	}
	if err := errors.Join(s.completes(0, "the SEND"), s.completes(1, "the receive")); err != nil {
		return err
	}
	s.qp[0].State()
	s.qp[1].State()
	if !bytes.Equal(part, client.Buf[s.at:][:strandSize]) || part[0] != number {
		return fmt.Errorf("round %d at %d: other bytes came back", number, s.at)
	}
	if s.window.Bound() {
		return errors.New("the window is bound still")
	}
	return nil
}

func roughLinks(t testing.TB) [2]verbs.Config {
	cfg := verbstest.PipeLinks(t)
	for i := range cfg {
		cfg[i].Links[0] = fault.New(cfg[i].Links[0], fault.Config{Seed: uint64(i), Drop: 0.01, Reorder: 0.1})
	}
	return cfg
}

// Queue pairs of several shards work concurrently, and bind and invalidate memory meanwhile.
func TestShardsServeTheirQueuePairsSideBySide(t *testing.T) {
	for _, test := range []struct {
		name  string
		nodes func(testing.TB) [2]verbs.Config
	}{{"a queue for each", verbstest.UDPDevices}, {"one queue for all",
		verbstest.PipeLinks}, {"packets overtake and are lost", roughLinks}} {
		t.Run(test.name, func(t *testing.T) {
			const strands, rounds = 10, 30
			cfg := test.nodes(t)
			cfg[0].Shards, cfg[1].Shards = 3, 4
			var nodes [2]*verbstest.Node
			for i := range nodes {
				nodes[i] = verbstest.Open(t, cfg[i], strands*strandSize)
			}
			memory := make([]byte, strands*strandSize)
			region, err := nodes[1].PD.RegMR(memory, verbs.LocalWrite|verbs.MWBind)
			if err != nil {
				t.Fatal(err)
			}
			var all []*strand
			for i := range strands {
				all = append(all, newStrand(t, nodes, i*strandSize))
			}
			var running sync.WaitGroup
			for _, s := range all {
				running.Go(func() {
					for i := range byte(rounds) {
						if err := s.round(region, memory, i); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			running.Wait()
			for _, n := range nodes {
				for name, value := range n.Device.Counters() {
					if value > 0 && (name == "drop_unknown_qpn" || name == "drop_stranger" || name == "drop_bad_icrc") {
						t.Errorf("%s = %d", name, value)
					}
				}
			}
		})
	}
}

// An iteration returns all queue pairs in the order of creation, independently of their shards.
func TestALookGoesThroughAllShards(t *testing.T) {
	cfg := verbstest.PipeLinks(t)[0]
	cfg.Shards = 5
	n := verbstest.Open(t, cfg, 64)
	want := []verbs.QPN{n.QP.QPN()}
	for range 12 {
		q, _ := n.NewQP()
		want = append(want, q.QPN())
	}
	var got []verbs.QPN
	for q := range n.Device.QPs() {
		got = append(got, q.QPN)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("queue pairs %x, want %x", got, want)
	}
}

func TestASeedGivesTheSameNumbersHoweverManyProcessorsThereAre(t *testing.T) {
	numbers := func(processors int) (got [3]verbs.QPN) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		cfg := verbstest.PipeLinks(t)[0]
		cfg.Seed = 1
		n := verbstest.Open(t, cfg, 64)
		for i := range got {
			q, _ := n.NewQP()
			got[i] = q.QPN()
		}
		return got
	}
	if few, many := numbers(1), numbers(16); few != many {
		t.Errorf("queue pairs %x with one processor, %x with sixteen", few, many)
	}
}
