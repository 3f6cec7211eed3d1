package cases

import (
	"context"
	"net/netip"
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// fakeEcho is a fake that runs the pingpongs over UC and UD.
type fakeEcho struct {
	fake
	// Faults of the responder.
	ignoresGap, acks, ignoresQKey, ignoresOrder, ignoresLength, staysBroken, anyService, anyHeader, shifts bool

	program conformance.Program
	inside  bool
	broken  bool // a message was dropped, and staysBroken
	data    []byte
	memory  [4096]byte
	sent    bth.PSN
}

const fakeQKey, fakeReceive = 0x11111111, 4096

func (f *fakeEcho) Open(ctx context.Context, p conformance.Program, local conformance.Local) (conformance.Peer, error) {
	f.program, f.inside, f.broken, f.memory, f.sent = p, false, false, [4096]byte{}, 0
	f.fake.Open(ctx, p, local)
	return f, nil
}

func (f *fakeEcho) Target() conformance.Target {
	n := fakeReceive
	if f.program == conformance.UDPingpong {
		n = fakeMTU
	}
	return conformance.Target{Addr: deviceAddr, QPN: fakeQPN, MTU: fakeMTU, QKey: fakeQKey, ReceiveLen: n}
}

func (f *fakeEcho) Send(_ netip.Addr, p *wire.Packet) ([]byte, error) {
	service := bth.ServiceUC
	if f.program == conformance.UDPingpong {
		service = bth.ServiceUD
	}
	info := p.Opcode.Info()
	invalid := p.PKey != 0xffff || p.Version != 0 || p.Damage != nil
	bad := p.DestQP != fakeQPN || p.Edit != nil || invalid && !f.anyHeader
	switch {
	case bad, f.broken, (!info.Valid || info.Service != service) && !f.anyService:
	case service == bth.ServiceUD:
		f.datagram(p)
	default:
		f.packet(p, info)
	}
	if f.acks && p.AckReq {
		f.reply(bth.Packet{Opcode: bth.RCAck, PSN: p.PSN}, nil)
	}
	return nil, nil
}

func (f *fakeEcho) datagram(p *wire.Packet) {
	if p.DETH.QKey == fakeQKey || f.ignoresQKey {
		f.receive(p.Payload, fakeMTU)
	}
}

func (f *fakeEcho) packet(p *wire.Packet, info *bth.OpcodeInfo) {
	gap := p.PSN != f.psn
	f.psn = p.PSN.Add(1)
	starts := info.Starts() || !info.Valid
	if gap && !f.ignoresGap {
		f.inside = false
	}
	ordered := f.ignoresOrder || info.Op == bth.OpSend && (starts || f.inside)
	fits := f.ignoresLength || payloadRule(info, len(p.Payload))
	if !ordered || !fits {
		f.inside, f.broken = false, f.staysBroken
		return
	}
	if starts {
		f.data = nil
	}
	f.data = append(f.data, p.Payload...)
	f.inside = !info.Ends()
	if info.Ends() {
		f.receive(f.data, fakeReceive)
	}
}

// payloadRule reports whether a packet may have n bytes.
func payloadRule(info *bth.OpcodeInfo, n int) bool {
	if info.Ends() {
		return n <= fakeMTU && (n > 0 || info.Starts())
	}
	return n == fakeMTU
}

// receive puts a message into the memory, and answers from there.
func (f *fakeEcho) receive(data []byte, limit int) {
	if len(data) > limit {
		if !f.ignoresLength {
			return
		}
		data = data[:limit]
	}
	if f.shifts {
		data = slices.Concat([]byte{0}, data)
	}
	copy(f.memory[:], data)
	if f.program == conformance.UDPingpong {
		f.answer(bth.UDSendOnly, f.memory[:fakeMTU])
		return
	}
	for i, op := range []bth.Opcode{bth.UCSendFirst, bth.UCSendMiddle, bth.UCSendMiddle, bth.UCSendLast} {
		f.answer(op, f.memory[i*fakeMTU:(i+1)*fakeMTU])
	}
}

func (f *fakeEcho) answer(op bth.Opcode, payload []byte) {
	f.reply(bth.Packet{Opcode: op, PSN: f.sent, DETH: bth.DETH{QKey: fakeQKey, SrcQP: fakeQPN},
		Payload: slices.Clone(payload)}, nil)
	f.sent = f.sent.Add(1)
}

// echoCases returns the cases of both programs whose rules are binding.
func echoCases() (ids []string) {
	for _, c := range All() {
		echoes := c.Program == conformance.UCPingpong || c.Program == conformance.UDPingpong
		if echoes && c.Level == conformance.Shall {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func TestACorrectDevicePassesOverUCAndUD(t *testing.T) {
	f := &fakeEcho{}
	for id, x := range f.run(t, f, echoCases()...) {
		if x.Verdict != conformance.Pass && id != "ud/12" {
			t.Errorf("%s %s: %v: %s", id, x.Case.Rule, x.Verdict, x.Detail)
		}
	}
}

func TestFaultsOverUCAndUDAreSeen(t *testing.T) {
	for name, x := range map[string]struct {
		device *fakeEcho
		caught []string // ids of the cases that fail
	}{
		"ignores gaps":    {&fakeEcho{ignoresGap: true}, []string{"uc/3"}},
		"acknowledges":    {&fakeEcho{acks: true}, []string{"uc/1", "ud/4"}},
		"ignores Q_Keys":  {&fakeEcho{ignoresQKey: true}, []string{"ud/2"}},
		"ignores order":   {&fakeEcho{ignoresOrder: true}, []string{"uc/3", "uc/4", "uc/7", "uc/9"}},
		"ignores lengths": {&fakeEcho{ignoresLength: true}, []string{"uc/10", "uc/11", "uc/12", "ud/7"}},
		"stays broken":    {&fakeEcho{staysBroken: true}, []string{"uc/3", "uc/4", "uc/7", "uc/9", "uc/10", "uc/11"}},
		"takes any opcode": {&fakeEcho{anyService: true, ignoresOrder: true, ignoresLength: true},
			[]string{"uc/14", "ud/5"}},
		"takes any header": {&fakeEcho{anyHeader: true}, []string{"uc/15", "ud/6"}},
		"data at byte 41":  {&fakeEcho{shifts: true}, []string{"ud/1", "uc/2", "uc/13"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := x.device.run(t, x.device, echoCases()...)
			for _, id := range x.caught {
				if got := all[id]; got.Verdict != conformance.Fail {
					t.Errorf("%s %s: %v: %s", id, got.Case.Rule, got.Verdict, got.Detail)
				}
			}
		})
	}
}
