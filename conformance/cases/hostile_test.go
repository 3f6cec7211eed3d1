package cases_test

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/cmsg"
	"github.com/gorxe/gorxe/conformance/wire"
)

// hostile is a device and the link to it: it answers each packet with packets whose headers are
// partly plausible and partly random.
type hostile struct {
	raw bool

	mu    sync.Mutex
	rng   *rand.Rand
	local conformance.Local
	in    chan *wire.Received
}

var (
	hostileTester = netip.MustParseAddr("192.0.2.1")
	hostileDevice = netip.MustParseAddr("192.0.2.2")
	hostileOps    = []bth.Opcode{bth.RCAck, bth.RCAtomicAck, bth.RCReadResponseFirst, bth.RCReadResponseMiddle,
		bth.RCReadResponseLast, bth.RCReadResponseOnly, bth.RCSendFirst, bth.RCSendMiddle, bth.RCSendLast,
		bth.RCSendOnly, bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCWriteOnly, bth.RCReadRequest,
		bth.RCFetchAdd, bth.RCCmpSwap, bth.UCSendOnly, bth.UCSendFirst, bth.UCSendLast, bth.UCWriteOnly,
		bth.UDSendOnly, bth.CNP}
	hostileSyndromes = []bth.Syndrome{0, 31, bth.NakPSNSequence, bth.NakInvalidRequest, bth.NakRemoteAccess,
		bth.RNR(0), bth.RNR(31), 0x7f, 0xff}
	hostileLengths = []uint32{0, 1, 8, 64, 100, 1024, 4096, 1 << 20, 1 << 31, 1<<32 - 1}
)

func pick[T any](r *rand.Rand, all []T) T { return all[r.IntN(len(all))] }

func (h *hostile) Local() netip.Addr { return hostileTester }
func (h *hostile) Raw() bool         { return h.raw }
func (h *hostile) MTU() int          { return 1500 }
func (h *hostile) Close() error      { return nil }

func (h *hostile) Open(_ context.Context, _ conformance.Program, local conformance.Local) (conformance.Peer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.local = local
	return h, nil
}

func (h *hostile) Target() conformance.Target {
	h.mu.Lock()
	defer h.mu.Unlock()
	return conformance.Target{Addr: hostileDevice, QPN: bth.QPN(h.rng.Uint32N(1 << 24)),
		PSN: bth.PSN(h.rng.Uint32N(1 << 24)), Port: uint16(h.rng.Uint32()), RKey: h.rng.Uint32(), VA: h.rng.Uint64(),
		MTU: 1024, Receives: 8, ReceiveLen: 4096, Length: 4096}
}

func (h *hostile) Output() string { return "Failed status 4\x1b[31m\xff<script>" }

// Go sends requests.
func (h *hostile) Go() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	psn := h.local.PSN
	for range h.rng.IntN(40) {
		h.reply(h.packet(psn))
		psn = psn.Add(h.rng.Uint32N(2))
	}
	return nil
}

func (h *hostile) Send(_ netip.Addr, p *wire.Packet) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, b := p.Encode(hostileTester, hostileDevice, 1)
	if p.DestQP == bth.GSI && len(p.Payload) == cmsg.Len {
		h.manage((*cmsg.MAD)(p.Payload))
		return b, nil
	}
	for range h.rng.IntN(4) {
		h.reply(h.packet(p.PSN))
	}
	return b, nil
}

// manage answers a message of the communication manager, mostly so that the connection comes about.
func (h *hostile) manage(m *cmsg.MAD) {
	if m.Attribute() == cmsg.REQ {
		h.local.QPN, h.local.PSN = bth.QPN(m.Get(cmsg.REQQPN)), bth.PSN(m.Get(cmsg.REQPSN))
	}
	for range 1 + h.rng.IntN(2) {
		a := cmsg.Attribute(0x10 + h.rng.Uint32N(12))
		if m.Attribute() == cmsg.REQ && h.rng.IntN(3) > 0 {
			a = cmsg.REP
		}
		r := conformance.Answer(m, a)
		for i := range r[32:] {
			r[32+i] = byte(h.rng.Uint32())
		}
		if h.rng.IntN(4) == 0 {
			r.Set(cmsg.TID, h.rng.Uint64())
		}
		p := &wire.Packet{Packet: bth.Packet{Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.GSI,
			DETH: bth.DETH{QKey: cmsg.QKey, SrcQP: bth.GSI}, Payload: r[:]}}
		if h.rng.IntN(8) == 0 {
			p.Payload = p.Payload[:4*h.rng.IntN(64)]
		}
		h.reply(p)
	}
}

// packet returns a packet that answers one with a PSN.
func (h *hostile) packet(psn bth.PSN) *wire.Packet {
	r := h.rng
	p := &wire.Packet{Packet: bth.Packet{Opcode: pick(r, hostileOps), PKey: 0xffff, DestQP: h.local.QPN,
		PSN: psn.Add(r.Uint32N(3)), AckReq: r.IntN(2) == 0,
		RETH:      bth.RETH{VA: h.local.VA + uint64(r.IntN(2)), RKey: h.local.RKey, DMALen: pick(r, hostileLengths)},
		AtomicETH: bth.AtomicETH{VA: r.Uint64(), SwapAdd: r.Uint64()}, DETH: bth.DETH{SrcQP: 7},
		AETH: bth.AETH{Syndrome: pick(r, hostileSyndromes), MSN: r.Uint32N(1 << 24)}},
		TTL: uint8(r.Uint32()), TOS: uint8(r.Uint32())}
	if r.IntN(8) == 0 {
		p.PSN = bth.PSN(r.Uint32N(1 << 24))
	}
	if r.IntN(8) == 0 {
		p.Opcode = bth.Opcode(r.Uint32())
	}
	if k := p.Opcode.Info().Op; k != bth.OpAck {
		p.Payload = make([]byte, min(pick(r, hostileLengths), 8192))
	}
	if r.IntN(8) == 0 {
		p.Damage = func(b []byte) []byte { return b[:r.IntN(len(b)+1)] }
	}
	return p
}

// reply makes p arrive at the tester.
func (h *hostile) reply(p *wire.Packet) {
	ip, _ := p.Encode(hostileDevice, hostileTester, uint16(h.rng.Uint32()))
	r := wire.Receive(ip)
	if r == nil {
		return
	}
	r.At = time.Now()
	if !h.raw {
		r.IP = nil
	}
	select {
	case h.in <- r:
	default:
	}
}

func (h *hostile) Recv(deadline time.Time) (*wire.Received, error) {
	select {
	case r := <-h.in:
		return r, nil
	case <-time.After(time.Until(deadline)):
		return nil, wire.ErrTimeout
	}
}

// No answer of a device makes a script panic or run on.
func FuzzHostileDevice(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		h := &hostile{raw: seed%2 == 0, rng: rand.New(rand.NewPCG(seed, 0)), in: make(chan *wire.Received, 1<<12)}
		r := conformance.Runner{Device: h, Link: h, Timeout: time.Millisecond, Silence: time.Millisecond,
			Limit: 20 * time.Millisecond}
		if n := len(r.Run(t.Context(), cases.All())); n != len(cases.All()) {
			t.Errorf("%d of %d cases ended", n, len(cases.All()))
		}
	})
}
