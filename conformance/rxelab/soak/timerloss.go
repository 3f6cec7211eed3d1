package soak

import (
	"encoding/binary"
	"sync"
	"time"
)

// timerLoss detects queue pairs of rxe that have an incomplete message but no retransmission timer.
// That happens if rxe retransmits a message and, between two of its packets, receives an ACK of the
// message's last PSN. Since not all packets have been retransmitted, rxe takes the ACK for one of a
// part of the message and does not complete the message (rxe_comp.c, COMPST_WRITE_SEND). Since no
// PSN is unacknowledged, rxe does not restart the timer either (COMPST_EXIT). If the ACK of the
// remaining packets is lost, the message never completes.
type timerLoss struct {
	mu      sync.Mutex
	streams streams[repeatedStream] // guarded by mu
}

type repeatedStream struct {
	begun        time.Time
	latest, last uint32 // latest and highest PSN
	acknowledged bool   // up to last, while earlier packets were being retransmitted
}

const (
	acknowledge  = 0x11 // RC opcode
	syndromeMask = 0x60 // of the AETH; an ACK is 0
	aethLen      = 4
)

// request processes a packet that rxe sent, from the BTH on.
func (f *timerLoss) request(at time.Time, packet []byte) {
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

// response processes a packet that rxe received. It finds the stream by the PSN: two streams
// rarely have the same one.
func (f *timerLoss) response(packet []byte) {
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

// any reports whether a queue pair whose traffic began at or after since may have an incomplete
// message but no timer.
func (f *timerLoss) any(since time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		if s.acknowledged && !s.begun.Before(since) {
			return true
		}
	}
	return false
}

// ahead reports whether PSN a is after b.
func ahead(a, b uint32) bool { return (a-b)&mask24 != 0 && (a-b)&mask24 < 1<<23 }
