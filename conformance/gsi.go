package conformance

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/cmsg"
	"github.com/gorxe/gorxe/conformance/wire"
)

// GSI is queue pair 1 of the tester, over which messages of the communication manager are
// exchanged.
type GSI struct {
	t   *T
	to  netip.Addr
	psn bth.PSN
	ids map[uint32]bool // communication IDs of the tester in this case
	// kept are messages that came while the script waited for a packet of a connection.
	kept []*MAD
}

// MAD is a message that came to queue pair 1.
type MAD struct {
	cmsg.MAD
	Packet *wire.Received
}

// GSI returns queue pair 1 of the tester for messages to a device. Messages that came before are
// forgotten.
func (t *T) GSI(to netip.Addr) *GSI {
	for {
		select {
		case <-t.run.strays:
		default:
			return &GSI{t: t, to: to, ids: map[uint32]bool{}}
		}
	}
}

// NewID returns a random communication ID, whose messages Next returns.
func (g *GSI) NewID() uint32 {
	var b [4]byte
	rand.Read(b[:])
	id := binary.BigEndian.Uint32(b[:]) | 1
	g.ids[id] = true
	return id
}

// Packet returns the packet of a message with the fields that a correct sender sets.
func (g *GSI) Packet(m *cmsg.MAD) *wire.Packet {
	g.psn = g.psn.Add(1)
	return &wire.Packet{Packet: bth.Packet{Opcode: bth.UDSendOnly, MigReq: true, PKey: 0xffff, DestQP: bth.GSI,
		PSN: g.psn, DETH: bth.DETH{QKey: cmsg.QKey, SrcQP: bth.GSI}, Payload: append([]byte(nil), m[:]...)}}
}

// Send sends a message.
func (g *GSI) Send(m *cmsg.MAD) { g.SendPacket(g.Packet(m)) }

// SendPacket sends a packet.
func (g *GSI) SendPacket(p *wire.Packet) { g.t.send(g.to, p) }

// Next returns the next message of the communication manager for a connection of this case, or nil
// if none came within d. A DREQ of another connection is answered, so that the device does not
// repeat it.
func (g *GSI) Next(d time.Duration) *MAD {
	if len(g.kept) > 0 {
		m := g.kept[0]
		g.kept = g.kept[1:]
		return m
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case r := <-g.t.run.strays:
			if m := g.mine(r); m != nil {
				return m
			}
		case <-timer.C:
			return nil
		case <-g.t.ctx.Done():
			g.t.Inconclusive("the time for one case is over: %v", context.Cause(g.t.ctx))
		}
	}
}

// mine returns the message of r if it is for a connection of this case.
func (g *GSI) mine(r *wire.Received) *MAD {
	if r.Src.Addr() != g.to || len(r.Payload) != cmsg.Len || r.ICRC == wire.Wrong {
		return nil
	}
	m := &MAD{cmsg.MAD(r.Payload), r}
	if !m.Is() {
		return nil
	}
	id := cmsg.RemoteID
	if m.Attribute() == cmsg.SIDRREP {
		id = cmsg.LocalID
	}
	switch {
	case g.ids[uint32(m.Get(id))]:
		return m
	case m.Attribute() == cmsg.DREQ:
		g.Send(Answer(&m.MAD, cmsg.DREP))
	}
	return nil
}

// maxKept limits the messages that keep keeps: a device that repeats its messages sends a few.
const maxKept = 256

// keep keeps the message of r for Next.
func (g *GSI) keep(r *wire.Received) {
	if m := g.mine(r); m != nil && len(g.kept) < maxKept {
		g.kept = append(g.kept, m)
	}
}

// Answer returns a message with the transaction ID and the communication IDs that answer m.
func Answer(m *cmsg.MAD, a cmsg.Attribute) *cmsg.MAD {
	answer := cmsg.New(a, m.Get(cmsg.TID))
	answer.Set(cmsg.LocalID, m.Get(cmsg.RemoteID))
	answer.Set(cmsg.RemoteID, m.Get(cmsg.LocalID))
	return answer
}

// Expect returns the next message, which must be of a kind; otherwise the case fails. MRAs before
// it are skipped.
func (g *GSI) Expect(a cmsg.Attribute, why string) *MAD {
	m := g.Reply(g.t.Timeout())
	switch {
	case m == nil:
		g.t.Fail("%s: %v was expected within %v, nothing came", why, a, g.t.Timeout())
	case m.Attribute() != a:
		g.t.Fail("%s: %v was expected, but came %s", why, a, m.Describe())
	}
	return m
}

// ExpectREJ returns the next message, which must be a REJ with one of the reasons.
func (g *GSI) ExpectREJ(why string, reasons ...uint64) *MAD {
	m := g.Expect(cmsg.REJ, why)
	for _, r := range reasons {
		if m.Get(cmsg.REJReason) == r {
			return m
		}
	}
	g.t.Fail("%s: REJ with reason %d (%s) was expected, but came %s", why, reasons[0], cmsg.Reason(reasons[0]),
		m.Describe())
	return nil
}

// Quiet fails the case if a message other than an MRA comes within the silence time.
func (g *GSI) Quiet(why string) {
	for end := time.Now().Add(g.t.run.silence()); ; {
		m := g.Next(time.Until(end))
		switch {
		case m == nil:
			return
		case m.Attribute() != cmsg.MRA:
			g.t.Fail("%s must not be answered, but came %s", why, m.Describe())
		}
	}
}

// Forget drops the messages that have come.
func (g *GSI) Forget() {
	for g.Next(0) != nil {
	}
}

// Reply returns the next message that is no MRA, or nil if none came within d.
func (g *GSI) Reply(d time.Duration) *MAD {
	for end := time.Now().Add(d); ; {
		if m := g.Next(time.Until(end)); m == nil || m.Attribute() != cmsg.MRA {
			return m
		}
	}
}
