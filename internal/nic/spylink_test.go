package nic

import (
	"bytes"
	"sync"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
)

// A spyLink records what is sent, and its Send never waits.
type spyLink struct {
	packet.Link
	mu   sync.Mutex
	only bth.QPN // keep only packets to this queue pair; 0: all, up to spyLimit
	sent []bth.Packet
	raw  []byte
}

const spyLimit = 4096

// Send keeps the frames from b.Sent on, decoded.
func (l *spyLink) Send(b *packet.Batch) error {
	if err := l.keep(b); err != nil {
		return err
	}
	return l.Link.Send(b)
}

func (l *spyLink) keep(b *packet.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var p bth.Packet
	for i := b.Sent; i < b.Len() && len(l.sent) < spyLimit; i++ {
		l.raw = b.At(i).AppendTo(l.raw[:0])
		if err := p.Decode(l.raw); err != nil {
			return err
		}
		if l.only == 0 || l.only == p.DestQP {
			kept := p
			kept.Payload = bytes.Clone(p.Payload)
			l.sent = append(l.sent, kept)
		}
	}
	return nil
}

// take returns the packets kept since the last call, and from now on keeps only those to the
// given queue pair, unless it is 0.
func (l *spyLink) take(only bth.QPN) []bth.Packet {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.sent
	l.sent, l.only = nil, only
	return out
}
