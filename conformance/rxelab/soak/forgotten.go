package soak

import (
	"encoding/binary"
	"sync"
	"time"
)

// forgotten watches for connections that rxe leaves without a timer. An acknowledgement of all that
// rxe has sent, which reaches it between two packets of a repeated message, counts as one of a part
// of it: the message is not completed (rxe_comp.c, COMPST_WRITE_SEND), but no PSN is left for which
// the timer is started again (COMPST_EXIT). If the acknowledgement of the rest is lost, rxe waits
// for ever.
type forgotten struct {
	mu      sync.Mutex
	streams streams[repeatedStream] // guarded by mu
}

type repeatedStream struct {
	begun        time.Time
	latest, last uint32 // PSNs: of the latest packet, and the highest
	acknowledged bool   // up to last, while packets before it were repeated
}

const (
	acknowledge  = 0x11 // opcode of RC
	syndromeMask = 0x60 // of the AETH; an ACK is 0
	aethLen      = 4
)

// request takes a packet that rxe sent, from the BTH on.
func (f *forgotten) request(at time.Time, packet []byte) {
	_, key, psn, ok := requestOf(packet)
	if !ok {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.streams.to(key)
	if s.begun.IsZero() {
		*s = repeatedStream{begun: at, last: (psn - 1) & mask24}
	}
	s.latest = psn
	if ahead(psn, s.last) {
		s.last, s.acknowledged = psn, false
	}
}

// response takes a packet that rxe was sent. It finds the stream by the PSN: those of two streams
// are the same by chance only.
func (f *forgotten) response(packet []byte) {
	if len(packet) < bthLen+aethLen || packet[0] != acknowledge || packet[bthLen]&syndromeMask != 0 {
		return
	}
	psn := binary.BigEndian.Uint32(packet[bthPSN:]) & mask24
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		if s.last == psn && s.latest != s.last {
			s.acknowledged = true
		}
	}
}

// any reports whether a connection that has begun since a time may be without a timer.
func (f *forgotten) any(since time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		if s.acknowledged && !s.begun.Before(since) {
			return true
		}
	}
	return false
}

// ahead reports whether PSN a comes after b.
func ahead(a, b uint32) bool { return (a-b)&mask24 != 0 && (a-b)&mask24 < 1<<23 }
