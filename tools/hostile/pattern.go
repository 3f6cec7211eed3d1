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

// Actor is what a flooder has of the victim's.
type Actor string

const (
	Stranger Actor = "stranger" // nothing but its address
	Peer     Actor = "peer"     // queue pairs that the victim connected to its own, and keys of some memory
	Forger   Actor = "forger"   // another host's address, as the source of its packets
)

// Source is the address that a packet comes from.
type Source uint8

const (
	FromSelf   Source                 = iota // the flooder's own
	FromThird                                // one that has nothing to do with the victim
	FromGood                                 // that of the good pair's host
	FromAbsent                               // the first of those of the victim's network that nobody has
	FromRemote = FromAbsent + absents        // the first of those of another network, to which a router leads
	sources    = FromRemote + remotes
)

// absents is how many addresses of hosts that do not exist a flood has, and remotes how many of another network.
const (
	absents = 8
	remotes = 200
)

// remoteNetwork is the other network (TEST-NET-2 of RFC 5737).
var remoteNetwork = netip.MustParsePrefix("198.51.100.0/24")

// sourcesOf are the addresses that packets come from; the absent ones are some way behind that of the third party.
func sourcesOf(flooder, third, good netip.Addr) (all [sources]netip.Addr) {
	all[FromSelf], all[FromThird], all[FromGood] = flooder, third, good
	b := third.As4()
	for i := range absents {
		b[3] = byte(100 + i)
		all[int(FromAbsent)+i] = netip.AddrFrom4(b)
	}
	r := remoteNetwork.Addr().As4()
	if third.IsLoopback() { // every address is of this host there
		r = [4]byte{b[0], b[1], b[2] + 1}
	}
	for i := range remotes {
		r[3] = byte(1 + i)
		all[int(FromRemote)+i] = netip.AddrFrom4(r)
	}
	return all
}

// Needs is what the victim's program does with the flooder's queue pairs.
type Needs struct {
	QPs    int  // queue pairs; 0 means one
	MTU    int  // their path MTU; 0 means MTU
	Writes bool // it always has WRITEs of 64 KiB for the flooder outstanding
	Reads  bool // and READs of 64 KiB
	Revive bool // it connects anew a queue pair that has come to ERR, as a server does that lets clients return
}

// Pattern is one way to misbehave.
type Pattern struct {
	Name string
	Does string // what it sends, and what that breaks or costs
	By   Actor
	Needs

	// Session has the flooder get its queue pair from the responder to perftest, to which it names
	// the host Names as its own. If that is refused the flood goes to a queue pair that is not for
	// that host.
	Session bool
	Names   Source

	// Setup makes packets that are sent once, before the flood, with a pause after them.
	Setup func(f *Flood) []Datagram
	// Legal is set if a peer may send what Setup makes: the control begins with it as well, so that
	// the good pair shares with it beside both.
	Legal bool
	// Make returns the i-th packet. Its bytes are the flood's until the next call.
	Make func(f *Flood, i uint64) Datagram
	// Call is, instead of Make, one exchange over TCP.
	Call func(ctx context.Context, f *Flood, i uint64) error

	// Unheld is why no bound is held against the good pair's share; empty where it is.
	Unheld string
}

// Datagram is a packet of a flood.
type Datagram struct {
	From   Source
	Bytes  []byte // from the BTH to the last pad byte, or anything
	Sealed bool   // a right ICRC follows
	Broken bool   // a wrong one does
	Cut    bool   // longer than the path's MTU: the kernel makes fragments of it
}

// Owned is a queue pair of the victim that is connected to the flooder, and what the flooder may
// reach there.
type Owned struct {
	QPN, PeerQPN bth.QPN // the victim's and the flooder's
	PSN          bth.PSN // that the victim expects first
	Sends        bth.PSN // that the victim sends first
	VA           uint64  // of regionLen bytes with every right
	RKey         uint32
	BigVA        uint64 // of bigLen bytes of zeros, which may be read and written
	BigRKey      uint32
}

// Sizes of what a flooder may reach, in bytes.
const (
	regionLen = 1 << 20
	bigLen    = 1 << 31
)

// Target is the victim as the flooder knows it.
type Target struct {
	Addr     netip.Addr
	Flooder  [sources]netip.Addr
	Own      []Owned
	GoodQPN  bth.QPN // of the victim, connected to the good peer: an attacker on the path knows it
	RpingSrv uint16  // port that a program listens on
	ToolsTCP uint16  // of the responder to perftest; 0 for none
}

// MTU is the path MTU of the flooder's queue pairs.
const MTU = 4096

// Flood is a pattern that is being sent.
type Flood struct {
	Target
	Seen   func(peer bth.QPN) (psn bth.PSN, any bool) // of the latest request that came for a queue pair of the flooder's
	random *rand.Rand
	p      bth.Packet
	msg    mad.Message
	madBuf [mad.Len]byte
	buf    []byte
	una    []bth.PSN // by queue pair: up to where the flooder has acknowledged
	cms    [sources]*rawcm.Peer
}

// NewFlood readies a flood against a target. It is the same each time.
func NewFlood(t Target) *Flood {
	f := &Flood{Target: t, random: rand.New(rand.NewPCG(1, 2)), Seen: func(bth.QPN) (bth.PSN, bool) { return 0, false }}
	for i := range f.cms {
		f.cms[i] = rawcm.Speak(t.Flooder[i], t.Addr)
	}
	for i := range t.Own {
		f.una = append(f.una, t.Own[i].Sends)
	}
	return f
}

// own is the i-th packet's queue pair.
func (f *Flood) own(i uint64) *Owned { return &f.Own[i%uint64(len(f.Own))] }

var filler = make([]byte, bth.MaxPayload)

// request readies the packet of a request for one of the flooder's queue pairs, which reaches for n
// bytes of its region.
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

// answer readies the packet of a response to a request of the victim's.
func (f *Flood) answer(o *Owned, op bth.Opcode, psn bth.PSN, s bth.Syndrome) *bth.Packet {
	f.p = bth.Packet{Opcode: op, PKey: 0xffff, MigReq: true, DestQP: o.QPN, PSN: psn, AETH: bth.AETH{Syndrome: s}}
	return &f.p
}

// sealed is p with a right ICRC, from the flooder's own address.
func (f *Flood) sealed(p *bth.Packet) Datagram {
	f.buf = p.Append(f.buf[:0])
	return Datagram{Bytes: f.buf, Sealed: true}
}

// gsi is a datagram for queue pair 1.
func (f *Flood) gsi(b []byte) Datagram {
	f.p = bth.Packet{
		Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.GSI, DETH: bth.DETH{QKey: transport.GSIQKey, SrcQP: bth.GSI}, Payload: b,
	}
	return f.sealed(&f.p)
}

// message is a message to the connection manager. One that cannot be encoded is a fault of the
// pattern.
func (f *Flood) message(m *mad.Message) Datagram {
	if err := m.Encode(&f.madBuf); err != nil {
		panic(err)
	}
	return f.gsi(f.madBuf[:])
}

// copied is d with bytes of its own, for a Setup of several.
func copied(d Datagram) Datagram {
	d.Bytes = append([]byte(nil), d.Bytes...)
	return d
}

// once is a Setup that sends what the flood begins with.
func once(make func(f *Flood, i uint64) Datagram) func(f *Flood) []Datagram {
	return func(f *Flood) (out []Datagram) {
		for i := range f.Own {
			out = append(out, copied(make(f, uint64(i))))
		}
		return out
	}
}
