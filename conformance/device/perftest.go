package device

import (
	"context"
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// Parameters of perftest's programs.
const (
	perftestLen = 65536
	perftestMTU = 1024
	writeLatLen = 4096 // of the region of ib_write_lat
	// sendLen is the length of the receives of ib_send_bw.
	sendLen = 4096
	// sendReceives is the number of receives that ib_send_bw posts (-r).
	sendReceives = 128
)

// perftests are the servers of perftest.
var perftests = map[conformance.Program]struct {
	test    perftest.Test
	command string
}{
	conformance.WriteServer:   {perftest.WriteBW, "ib_write_bw -s 65536"},
	conformance.ReadServer:    {perftest.ReadBW, "ib_read_bw -s 65536"},
	conformance.AtomicServer:  {perftest.AtomicBW, "ib_atomic_bw -A FETCH_AND_ADD"},
	conformance.SendServer:    {perftest.SendBW, "ib_send_bw -s 4096 -r 128"},
	conformance.UCWriteServer: {perftest.WriteBW, "ib_write_bw -c UC -s 65536"},
	conformance.UCSendServer:  {perftest.SendBW, "ib_send_bw -c UC -s 4096 -r 128"},
	conformance.UDSendServer:  {perftest.SendBW, "ib_send_bw -c UD -s 1024 -r 128"},

	conformance.UCWriteLatServer: {perftest.WriteLat, "ib_write_lat -c UC -s 4096"},
	conformance.WriteServerTClass: {perftest.WriteBW,
		fmt.Sprintf("ib_write_bw -s 65536 --tclass %d", conformance.TClass)},
}

// openPerftest starts a server of perftest and connects to it.
func (s *Stock) openPerftest(ctx context.Context, program conformance.Program,
	local conformance.Local) (conformance.Peer, error) {
	t := perftests[program]
	p, conn, err := s.open(ctx, program)
	if err != nil {
		return nil, err
	}
	stop := s.handshake(ctx, conn)
	defer stop()
	end := &end{local: local}
	steps := append(perftest.Opening(), perftest.Script(t.test, perftest.Params{Role: exchange.Client, QPs: 1,
		Sizes: []uint64{perftestLen}})...)
	// The handshake ends where the traffic begins.
	if err := perftest.Drive(conn, exchange.Client, steps, end); !errors.Is(err, errConnected) {
		return nil, p.failed(conn, err)
	}
	if err := s.checkGID(end.peer.GID); err != nil {
		conn.Close()
		p.stop()
		return nil, err
	}
	c := &connected{process: p, conn: conn, target: conformance.Target{
		Addr: s.Addr, QPN: bth.QPN(end.peer.QPN), PSN: bth.PSN(end.peer.PSN), RKey: end.peer.RKey,
		VA: end.peer.VAddr, MTU: perftestMTU, Length: perftestLen,
	}}
	if t.test.Send() {
		c.target.Receives, c.target.ReceiveLen, c.target.QKey = sendReceives, sendLen, perftestQKey
	}
	switch {
	case t.test.Atomic():
		c.target.Length = 8
	case program == conformance.UCWriteLatServer:
		c.target.Length = writeLatLen
	}
	return c, nil
}

// perftestQKey is the Q_Key of perftest's UD queue pairs.
const perftestQKey = 0x11111111

// errConnected ends perftest.Drive before the traffic.
var errConnected = errors.New("connected")

// end is the tester's end of a handshake of perftest.
type end struct {
	local conformance.Local
	peer  perftest.Key
}

func (*end) Sizes() (cycle, line uint32)        { return 4096, 64 }
func (*end) PeerSizes(cycle, line uint32) error { return nil }
func (*end) MTU() uint8                         { return 3 } // 1024
func (*end) PeerMTU(uint8) error                { return nil }

func (e *end) Key(int) perftest.Key {
	return perftest.Key{OutReads: uint16(e.local.Reads), QPN: uint32(e.local.QPN), PSN: uint32(e.local.PSN),
		RKey: e.local.RKey, VAddr: e.local.VA, GID: gid(e.local.Addr)}
}

func (e *end) PeerKey(qp int, k perftest.Key, again bool) error {
	if qp == 0 && !again {
		e.peer = k
	}
	return nil
}

func (*end) Report() perftest.Report          { return perftest.Report{} }
func (*end) PeerReport(perftest.Report) error { return nil }

func (*end) Act(s perftest.Step) error {
	if s.Kind == perftest.Run {
		return errConnected
	}
	return nil
}
