package nic

import (
	"net/netip"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
)

// A rawPeer is an address that the test controls: it sends any bytes and records what arrives.
type rawPeer struct {
	t     testing.TB
	link  packet.Link
	batch *packet.Batch
	out   *outbox

	mu   sync.Mutex
	came [][]byte
}

func newRawPeer(t testing.TB, n *pipe.Net, addr netip.Addr) *rawPeer {
	t.Helper()
	p := &rawPeer{t: t, link: openLink(t, n, addr), batch: packet.NewBatch(1)}
	p.out = &outbox{gid: &gid{link: p.link, local: addr}}
	go func() {
		rb := packet.NewRecvBatch(8)
		for p.link.Recv(rb) == nil {
			p.mu.Lock()
			for _, f := range rb.Frames {
				p.came = append(p.came, append([]byte(nil), f.Data...))
			}
			p.mu.Unlock()
		}
	}()
	return p
}

// frame adds b to the batch, ready to be sealed.
func (p *rawPeer) frame(to netip.Addr, b []byte) *packet.Frame {
	p.batch.Reset()
	f := p.batch.AppendFrame()
	f.Path = &packet.Path{Src: p.out.local, Dst: to}
	f.Payload = append(f.Payload, b)
	p.link.Prepare(p.batch)
	return f
}

// send sends b as it is.
func (p *rawPeer) send(to netip.Addr, b []byte) {
	p.t.Helper()
	p.frame(to, b)
	if err := p.link.Send(p.batch); err != nil {
		p.t.Fatal(err)
	}
}

// sendSealed sends b followed by the correct ICRC.
func (p *rawPeer) sendSealed(to netip.Addr, b []byte) {
	p.t.Helper()
	f := p.frame(to, b)
	f.Header, f.Payload = b, f.Payload[:0]
	p.out.seal(f)
	if err := p.link.Send(p.batch); err != nil {
		p.t.Fatal(err)
	}
}

// sendWithID sends b with the ICRC for an identification that the link does not report.
func (p *rawPeer) sendWithID(to netip.Addr, b []byte, id uint16) {
	p.t.Helper()
	f := p.frame(to, b)
	f.Header, f.Payload = b, f.Payload[:0]
	f.ID = id
	p.out.seal(f)
	if err := p.link.Send(p.batch); err != nil {
		p.t.Fatal(err)
	}
}

// answers returns the packets that arrived since the last call.
func (p *rawPeer) answers() []bth.Packet {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []bth.Packet
	for _, b := range p.came {
		var a bth.Packet
		if err := a.Decode(b); err != nil {
			p.t.Fatalf("an answer that cannot be decoded: %v", err)
		}
		out = append(out, a)
	}
	p.came = nil
	return out
}
