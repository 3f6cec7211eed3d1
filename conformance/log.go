package conformance

import (
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/gorxe/gorxe/conformance/wire"
)

// packetLog records the packets of a case. Its methods may be called by several goroutines.
type packetLog struct {
	mu      sync.Mutex
	entries []Entry
	size    held // of entries
	notes   []string
	dropped int
	strays  int // received packets to no queue pair of the tester
}

// Entry is a packet that the tester sent or received.
type Entry struct {
	At       time.Time
	Sent     bool
	Src, Dst netip.AddrPort
	TOS, TTL uint8
	Bytes    []byte // UDP payload
	IP       []byte // the whole IP packet, if known
	Notes    []string
}

// Limits of a log: packets, their bytes, notes that wait for a packet, and packets to queue pairs
// that the tester does not have. More are counted only.
const (
	maxEntries  = 1 << 16
	maxLogBytes = 64 << 20
	maxLogNotes = 1 << 12
	maxStrays   = 1 << 10
)

func (l *packetLog) note(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.notes) < maxLogNotes {
		l.notes = append(l.notes, text)
	}
}

func (l *packetLog) add(e Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.size.add(max(len(e.IP), len(e.Bytes)), maxEntries, maxLogBytes) {
		l.dropped++
		return
	}
	e.Notes, l.notes = l.notes, nil
	l.entries = append(l.entries, e)
}

func (l *packetLog) sent(at time.Time, src, dst netip.Addr, p *wire.Packet, payload []byte) {
	port := p.SrcPort
	if port == 0 {
		port = wire.Port
	}
	if p.Src.IsValid() {
		src = p.Src
	}
	l.add(Entry{At: at, Sent: true, Src: netip.AddrPortFrom(src, port), Dst: netip.AddrPortFrom(dst, wire.Port),
		TOS: p.TOS, TTL: p.TTL, Bytes: payload, IP: p.IP})
}

// stray records a packet to a queue pair that the tester does not have.
func (l *packetLog) stray(r *wire.Received) {
	l.mu.Lock()
	l.strays++
	keep := l.strays <= maxStrays
	if !keep {
		l.dropped++
	}
	l.mu.Unlock()
	if keep {
		l.received(r)
	}
}

// flooded returns the number of packets to queue pairs that the tester does not have, 0 if they are
// few. In a flood, the link may lose replies.
func (l *packetLog) flooded() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.strays <= maxStrays {
		return 0
	}
	return l.strays
}

func (l *packetLog) received(r *wire.Received) {
	l.add(Entry{At: r.At, Src: r.Src, Dst: r.Dst, TOS: r.TOS, TTL: r.TTL, Bytes: r.Bytes, IP: r.IP})
}

// take returns the entries in order of time.
func (l *packetLog) take() (entries []Entry, dropped int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	slices.SortStableFunc(l.entries, func(x, y Entry) int { return x.At.Compare(y.At) })
	return l.entries, l.dropped
}

// held is an amount of packets that are kept. A device can send any number, of up to 64 KiB each.
type held struct{ packets, bytes int }

// add adds a packet of n bytes and returns true, or false if that would exceed a limit.
func (h *held) add(n, maxPackets, maxBytes int) bool {
	if h.packets >= maxPackets || h.bytes+n > maxBytes {
		return false
	}
	h.packets++
	h.bytes += n
	return true
}

// keep is add for a packet that a script keeps.
func (h *held) keep(r *wire.Received) bool { return h.add(sizeOf(r), maxQueue, maxQueueBytes) }

// sizeOf returns the number of bytes that r keeps in memory.
func sizeOf(r *wire.Received) int { return max(len(r.IP), len(r.Bytes)) }
