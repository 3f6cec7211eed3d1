package rawcm

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/transport"
)

// Peer is a host that has only queue pair 1. Put and Flush must be called by one goroutine, Recv
// by one goroutine.
type Peer struct {
	link  packet.Link
	path  packet.Path
	batch *packet.Batch
	p     bth.Packet

	rb   *packet.RecvBatch
	next int // index in rb.Frames
}

// New returns a peer at the local address of link that sends to the manager at address to. The
// caller keeps ownership of the link.
func New(link packet.Link, to netip.Addr) *Peer {
	n := max(link.Caps().Batch, 1)
	return &Peer{
		link: link, path: packet.Path{Src: link.Local(), Dst: to}, batch: packet.NewBatch(n),
		rb: packet.NewRecvBatch(n),
		p: bth.Packet{
			Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.GSI,
			DETH: bth.DETH{QKey: transport.GSIQKey, SrcQP: bth.GSI},
		},
	}
}

// NewOffline returns a peer without a link, which only makes messages: Put, Flush and Recv must
// not be called.
func NewOffline(from, to netip.Addr) *Peer { return &Peer{path: packet.Path{Src: from, Dst: to}} }

// GID returns the GID of the peer.
func (p *Peer) GID() qp.GID { return qp.GIDFromAddr(p.path.Src) }

// Put encodes a message into the current batch. It sends a full batch immediately.
func (p *Peer) Put(m *mad.Message) error {
	var b [mad.Len]byte
	if err := m.Encode(&b); err != nil {
		return err
	}
	return p.PutBytes(b[:])
}

// PutBytes is Put for bytes that need not be a message.
func (p *Peer) PutBytes(b []byte) error {
	f := p.batch.AppendFrame()
	f.Path = &p.path
	// Padding follows, so b may have any length.
	p.p.PSN, p.p.Pad = p.p.PSN.Add(1), uint8(-len(b)&3)
	f.Header = p.p.AppendHeaders(f.Header)
	own := f.Alloc(len(b))
	copy(own, b)
	f.Payload = append(f.Payload, own)
	f.Trailer = f.Trailer[:p.p.Pad]
	clear(f.Trailer)
	if p.batch.Full() {
		return p.Flush()
	}
	return nil
}

// Flush sends the current batch.
func (p *Peer) Flush() error {
	defer p.batch.Reset()
	p.link.Prepare(p.batch)
	p.seal()
	err := p.link.Send(p.batch)
	for errors.Is(err, packet.ErrReprepare) {
		p.link.Prepare(p.batch)
		for i := p.batch.Sent; i < p.batch.Len(); i++ {
			f := p.batch.At(i)
			f.Trailer = f.Trailer[:len(f.Trailer)-bth.ICRCLen]
		}
		p.seal()
		err = p.link.Send(p.batch)
	}
	return err
}

// seal appends the ICRCs.
func (p *Peer) seal() {
	src, dst := p.path.Src.WithZone("").Unmap(), p.path.Dst.WithZone("").Unmap()
	for i := p.batch.Sent; i < p.batch.Len(); i++ {
		f := p.batch.At(i)
		n := bth.UDPHeaderLen + f.Len() + bth.ICRCLen
		var seed uint32
		if src.Is4() {
			h := bth.Header4{Src: src.As4(), Dst: dst.As4(), ID: f.ID, FlagsFragment: f.FlagsFragment,
				SrcPort: f.SrcPort, DstPort: packet.Port, UDPLen: n}
			seed = h.Seed()
		} else {
			h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: f.SrcPort, DstPort: packet.Port, UDPLen: n}
			seed = h.Seed()
		}
		state := bth.ICRCContinue(bth.ICRCStart(seed, f.Header), f.Payload[0])
		f.Trailer = bth.AppendICRC(f.Trailer, bth.ICRCContinue(state, f.Trailer))
	}
}

// Recv waits for a message of the manager. It skips other packets.
func (p *Peer) Recv(m *mad.Message) error {
	for {
		for ; p.next < len(p.rb.Frames); p.next++ {
			var in bth.Packet
			if in.Decode(p.rb.Frames[p.next].Data) == nil && in.DestQP == bth.GSI && m.Decode(in.Payload) == nil {
				p.next++
				return nil
			}
		}
		p.next = 0
		if err := p.link.Recv(p.rb); err != nil {
			return fmt.Errorf("waiting for a message: %w", err)
		}
	}
}
