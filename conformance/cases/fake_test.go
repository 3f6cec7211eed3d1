package cases

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

var (
	testerAddr = netip.MustParseAddr("198.18.44.1")
	deviceAddr = netip.MustParseAddr("198.18.44.2")
)

// fake is a device in memory with a link to it: an RC responder that acknowledges WRITEs and
// answers READs. It sees the fields of the packets as the script set them.
type fake struct {
	// fault changes the IP packets that the device sends; nil: none.
	fault func(ip []byte)
	// takes says whether the device executes a WRITE that only a raw link can send.
	takes func(p *wire.Packet) bool
	// cnp changes the CNPs for marked packets; nil: the device sends none.
	cnp       func(p *bth.Packet) []byte // returns the 16 bytes
	marksAll  bool                       // CNPs also for packets that are not marked
	answers   bool                       // answers CNPs
	refusesCE bool                       // drops marked packets

	in     chan *wire.Received
	closed chan struct{}
	local  conformance.Local
	psn    bth.PSN // expected
	msn    uint32
	delay  time.Duration // of READ responses, because of CNPs
}

const fakeQPN, fakeRKey, fakeVA, fakeMTU = 0x1234, 7, 1 << 20, 1024

func (f *fake) Open(_ context.Context, _ conformance.Program, local conformance.Local) (conformance.Peer, error) {
	f.local, f.psn, f.msn, f.delay = local, local.PSN, 0, 0
	return f, nil
}

func (f *fake) Target() conformance.Target {
	return conformance.Target{Addr: deviceAddr, QPN: fakeQPN, RKey: fakeRKey, VA: fakeVA, Length: 65536, MTU: fakeMTU}
}
func (f *fake) Go() error         { return nil }
func (f *fake) Output() string    { return "" }
func (f *fake) Close() error      { return nil }
func (f *fake) Local() netip.Addr { return testerAddr }
func (f *fake) Raw() bool         { return true }
func (f *fake) MTU() int          { return 1500 }

func (f *fake) Recv(deadline time.Time) (*wire.Received, error) {
	timer := time.NewTimer(time.Until(deadline))
	defer timer.Stop()
	select {
	case r := <-f.in:
		return r, nil
	case <-f.closed:
		return nil, net.ErrClosed
	case <-timer.C:
		return nil, wire.ErrTimeout
	}
}

// latency is the time that the fake device takes for each packet, in the virtual time of a run.
const latency = 10 * time.Microsecond

// Send makes the device answer p.
func (f *fake) Send(_ netip.Addr, p *wire.Packet) ([]byte, error) {
	time.Sleep(latency)
	bad := p.DestQP != fakeQPN || p.PKey != 0xffff || p.Version != 0 || p.V1
	unusual := p.Header != nil || p.NoChecksum
	damaged := p.Damage != nil && p.Opcode != bth.RCWriteOnly
	switch {
	case p.Damage != nil:
		// FECN and BECN may change on the way.
		b := p.Damage(make([]byte, 64))
		damaged = len(b) != 64 || b[4] == 0
	}
	switch {
	case bad || damaged:
	case unusual && (f.takes == nil || !f.takes(p)):
	case p.Opcode == bth.CNP:
		if p.Edit == nil {
			f.delay = 50 * time.Millisecond
		}
		if f.answers {
			f.reply(bth.Packet{Opcode: bth.RCAck, PSN: p.PSN, AETH: bth.AETH{Syndrome: 31, MSN: f.msn}}, nil)
		}
	case p.Opcode == bth.RCWriteOnly:
		f.write(p)
	case p.Opcode == bth.RCReadRequest:
		f.read(p)
	}
	return nil, nil
}

func (f *fake) write(p *wire.Packet) {
	marked := p.TOS&3 == 3
	if marked && f.refusesCE {
		return
	}
	if p.PSN == f.psn {
		f.psn = f.psn.Add(1)
		f.msn++
	}
	if f.cnp != nil && (marked || f.marksAll) {
		c := bth.Packet{Opcode: bth.CNP, BECN: true}
		zero := f.cnp(&c)
		f.reply(c, zero)
	}
	f.reply(bth.Packet{Opcode: bth.RCAck, MigReq: true, PSN: p.PSN, AETH: bth.AETH{Syndrome: 31, MSN: f.msn}}, nil)
}

func (f *fake) read(p *wire.Packet) {
	time.Sleep(f.delay)
	f.delay /= 2
	n := int(p.RETH.DMALen)
	count := max(1, (n+fakeMTU-1)/fakeMTU)
	for i := range count {
		op := bth.RCReadResponseMiddle
		switch {
		case count == 1:
			op = bth.RCReadResponseOnly
		case i == 0:
			op = bth.RCReadResponseFirst
		case i == count-1:
			op = bth.RCReadResponseLast
		}
		f.reply(bth.Packet{Opcode: op, PSN: p.PSN.Add(uint32(i)), AETH: bth.AETH{Syndrome: 31},
			Payload: make([]byte, min(fakeMTU, n-i*fakeMTU))}, nil)
	}
}

// reply sends a packet to the tester. after replaces the 16 bytes of a CNP.
func (f *fake) reply(p bth.Packet, after []byte) {
	p.PKey, p.DestQP = 0xffff, f.local.QPN
	b := p.Append(nil)
	copy(b[bth.BTHLen:], after)
	be := binary.BigEndian
	n := 28 + len(b) + bth.ICRCLen
	ip := []byte{0x45, 0, 0, 0, 0, 0, 0x40, 0, 255, 17, 0, 0}
	be.PutUint16(ip[2:], uint16(n))
	ip = append(append(ip, deviceAddr.AsSlice()...), testerAddr.AsSlice()...)
	ip = be.AppendUint16(ip, 50000)
	ip = be.AppendUint16(ip, wire.Port)
	ip = be.AppendUint16(ip, uint16(n-20))
	ip = append(append(append(ip, 0, 0), b...), 0, 0, 0, 0)
	sum := uint32(0)
	for i := 0; i < 20; i += 2 {
		sum += uint32(be.Uint16(ip[i:]))
	}
	be.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	wire.FixICRC(ip)
	if f.fault != nil {
		f.fault(ip)
	}
	r := &wire.Received{At: time.Now(), IP: ip, Bytes: ip[28:], TOS: ip[1], TTL: ip[8],
		Src: netip.AddrPortFrom(netip.AddrFrom4([4]byte(ip[12:16])), be.Uint16(ip[20:])),
		Dst: netip.AddrPortFrom(testerAddr, wire.Port), ICRC: wire.Wrong}
	r.Err = r.Packet.Decode(r.Bytes)
	if seed, _, err := bth.SeedIP(ip); err == nil && bth.CheckICRC(seed, r.Bytes) {
		r.ICRC = wire.Right
	}
	f.in <- r
}

// verdicts runs the cases of a chapter that need no other program against f.
func (f *fake) verdicts(t *testing.T, ids ...string) map[string]*conformance.Result {
	t.Helper()
	return f.run(t, f, ids...)
}

// run runs cases in virtual time against a device whose fake f is.
func (f *fake) run(t *testing.T, device interface {
	conformance.Device
	wire.Link
}, ids ...string) map[string]*conformance.Result {
	t.Helper()
	var all []*conformance.Case
	for _, c := range All() {
		for _, id := range ids {
			if c.ID == id || c.Chapter() == id {
				all = append(all, c)
			}
		}
	}
	if len(all) == 0 {
		t.Fatalf("no case %v", ids)
	}
	out := map[string]*conformance.Result{}
	synctest.Test(t, func(t *testing.T) {
		f.in, f.closed = make(chan *wire.Received, 1<<14), make(chan struct{})
		r := conformance.Runner{Device: device, Link: device}
		for _, x := range r.Run(t.Context(), all) {
			out[x.Case.ID] = x
		}
	})
	return out
}
