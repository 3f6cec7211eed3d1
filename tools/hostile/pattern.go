package hostile

import (
	"context"
	"math/rand/v2"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/transport"
)

// Actor is the role from which a flooder attacks.
type Actor string

const (
	Stranger Actor = "stranger" // knows only the victim's address
	Peer     Actor = "peer"     // has connected queue pairs, and keys of some memory
	Forger   Actor = "forger"   // uses another host's source address
)

// Source selects the source address of a packet.
type Source uint8

const (
	FromSelf   Source                 = iota // flooder's own address
	FromThird                                // address of a third party without relation to the victim
	FromGood                                 // address of the good pair's host
	FromAbsent                               // first of the addresses of absent hosts in the victim's network
	FromRemote = FromAbsent + absents        // first of the addresses of another network, behind a router
	sources    = FromRemote + remotes
)

// absents is the number of addresses of absent hosts, remotes that of addresses in another
// network.
const (
	absents = 8
	remotes = 200
)

// remoteNetwork is the other network (TEST-NET-2 of RFC 5737).
var remoteNetwork = netip.MustParsePrefix("198.51.100.0/24")

// sourcesOf returns all source addresses. The absent ones follow that of the third party, with a
// gap.
func sourcesOf(flooder, third, good netip.Addr) (all [sources]netip.Addr) {
	all[FromSelf], all[FromThird], all[FromGood] = flooder, third, good
	b := third.As4()
	for i := range absents {
		b[3] = byte(100 + i)
		all[int(FromAbsent)+i] = netip.AddrFrom4(b)
	}
	r := remoteNetwork.Addr().As4()
	if third.IsLoopback() { // every address is local there
		r = [4]byte{b[0], b[1], b[2] + 1}
	}
	for i := range remotes {
		r[3] = byte(1 + i)
		all[int(FromRemote)+i] = netip.AddrFrom4(r)
	}
	return all
}

// Needs describes what the victim's program does with the flooder's queue pairs.
type Needs struct {
	QPs    int  // number of queue pairs; 0 means 1
	MTU    int  // path MTU; 0 means MTU
	Writes bool // keep WRITEs of 64 KiB to the flooder outstanding
	Reads  bool // keep READs of 64 KiB outstanding
	Revive bool // reconnect queue pairs in ERR, like a server that lets clients return
}

// Pattern is an attack.
type Pattern struct {
	Name        string
	Description string // what it sends, and what that violates or costs
	Actor       Actor
	Needs

	// Session makes the flooder obtain its queue pair from the responder to perftest, with the
	// host Names as its alleged address. If that fails, the flood goes to a queue pair that is
	// not for that host.
	Session bool
	Names   Source

	// Setup returns packets that are sent once, before the flood, followed by a pause.
	Setup func(f *Flood) []Datagram
	// Legal reports whether a peer may send the packets of Setup. If so, the control begins with
	// them, too, so that the good pair shares the victim with them in both measurements.
	Legal bool
	// Make returns the i-th packet. Its bytes are valid until the next call.
	Make func(f *Flood, i uint64) Datagram
	// Call replaces Make: it makes the i-th exchange over TCP.
	Call func(ctx context.Context, f *Flood, i uint64) error

	// Unheld is the reason why the pattern has no bound on the good pair's share; empty if it
	// has.
	Unheld string
}

// Datagram is a packet of a flood.
type Datagram struct {
	From   Source
	Bytes  []byte // from BTH to pad, or anything
	Sealed bool   // append a right ICRC
	Broken bool   // append a wrong ICRC
	Cut    bool   // longer than the path MTU: the kernel fragments it
}

// Owned is a queue pair of the victim that is connected to the flooder, with the memory that the
// flooder may access.
type Owned struct {
	QPN, PeerQPN bth.QPN // numbers at the victim and at the flooder
	PSN          bth.PSN // first PSN that the victim expects
	Sends        bth.PSN // first PSN that the victim sends
	VA           uint64  // of regionLen bytes with all access rights
	RKey         uint32
	BigVA        uint64 // of bigLen bytes of zeros, which may be read and written
	BigRKey      uint32
}

// Sizes of the memory that a flooder may access, in bytes.
const (
	regionLen = 1 << 20
	bigLen    = 1 << 31
)

// Target is what the flooder knows about the victim.
type Target struct {
	Addr     netip.Addr
	Flooder  [sources]netip.Addr
	Own      []Owned
	GoodQPN  bth.QPN // queue pair connected to the good peer; an on-path attacker would know it
	RpingSrv uint16  // port at which a program listens
	ToolsTCP uint16  // port of the responder to perftest; 0: none
}

// MTU is the default path MTU of the flooder's queue pairs.
const MTU = 4096

// Flood is the state of a flood.
type Flood struct {
	Target
	Seen   func(peer bth.QPN) (psn bth.PSN, any bool) // PSN of the latest request to a queue pair of the flooder
	random *rand.Rand
	p      bth.Packet
	msg    mad.Message
	madBuf [mad.Len]byte
	buf    []byte
	una    []bth.PSN // by queue pair: oldest PSN that the flooder has not acknowledged
	cms    [sources]*rawcm.Peer
}

// NewFlood returns a flood against a target. It is deterministic.
func NewFlood(t Target) *Flood {
	f := &Flood{Target: t, random: rand.New(rand.NewPCG(1, 2)), Seen: func(bth.QPN) (bth.PSN, bool) { return 0, false }}
	for i := range f.cms {
		f.cms[i] = rawcm.NewOffline(t.Flooder[i], t.Addr)
	}
	for i := range t.Own {
		f.una = append(f.una, t.Own[i].Sends)
	}
	return f
}

// own returns the queue pair of the i-th packet.
func (f *Flood) own(i uint64) *Owned { return &f.Own[i%uint64(len(f.Own))] }

var filler = make([]byte, bth.MaxPayload)

// request prepares a request to one of the flooder's queue pairs, which accesses n bytes of its
// region.
func (f *Flood) request(o *Owned, op bth.Opcode, psn bth.PSN, n int) *bth.Packet {
	f.p = bth.Packet{
		Opcode: op, PKey: 0xffff, MigReq: true, DestQP: o.QPN, AckReq: true, PSN: psn, InvalidateRKey: o.RKey,
		RETH:      bth.RETH{VA: o.VA, RKey: o.RKey, DMALen: uint32(n)},
		AtomicETH: bth.AtomicETH{VA: o.VA, RKey: o.RKey, SwapAdd: 1},
	}
	if op.Info().Payload {
		f.p.Payload = filler[:min(n, MTU)]
	}
	return &f.p
}

// answer prepares a response to a request of the victim.
func (f *Flood) answer(o *Owned, op bth.Opcode, psn bth.PSN, s bth.Syndrome) *bth.Packet {
	f.p = bth.Packet{Opcode: op, PKey: 0xffff, MigReq: true, DestQP: o.QPN, PSN: psn, AETH: bth.AETH{Syndrome: s}}
	return &f.p
}

// sealed returns p with a right ICRC, from the flooder's own address.
func (f *Flood) sealed(p *bth.Packet) Datagram {
	f.buf = p.Append(f.buf[:0])
	return Datagram{Bytes: f.buf, Sealed: true}
}

// gsi returns a datagram to queue pair 1.
func (f *Flood) gsi(b []byte) Datagram {
	f.p = bth.Packet{
		Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.GSI,
		DETH: bth.DETH{QKey: transport.GSIQKey, SrcQP: bth.GSI}, Payload: b,
	}
	return f.sealed(&f.p)
}

// message returns a message to the connection manager. It panics if m cannot be encoded, which is
// a bug in the pattern.
func (f *Flood) message(m *mad.Message) Datagram {
	if err := m.Encode(&f.madBuf); err != nil {
		panic(err)
	}
	return f.gsi(f.madBuf[:])
}

// copied returns d with its own copy of the bytes, for a Setup with several packets.
func copied(d Datagram) Datagram {
	d.Bytes = append([]byte(nil), d.Bytes...)
	return d
}

// once returns a Setup that sends the first packet of the flood to each queue pair.
func once(make func(f *Flood, i uint64) Datagram) func(f *Flood) []Datagram {
	return func(f *Flood) (out []Datagram) {
		for i := range f.Own {
			out = append(out, copied(make(f, uint64(i))))
		}
		return out
	}
}
