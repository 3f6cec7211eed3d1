package soak

import (
	"io"
	"sync"
	"time"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"
)

// recent keeps the headers of the latest frames of a capture that is not stored, for the
// diagnosis of a failure.
type recent struct {
	mu     sync.Mutex
	frames []headOf // a ring once it is full; guarded by mu
	next   int      // index of the next frame; guarded by mu
}

// headOf is the start of a frame, long enough for all headers.
type headOf struct {
	at          time.Time
	length, got int
	head        [recentHead]byte
}

const (
	recentHead   = 128
	recentFrames = 1 << 16
)

// keep adds a frame.
func (r *recent) keep(about gopacket.CaptureInfo, frame []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.frames) < recentFrames {
		r.frames = append(r.frames, headOf{})
	}
	f := &r.frames[r.next]
	r.next = (r.next + 1) % recentFrames
	f.at, f.length, f.got = about.Timestamp, about.Length, copy(f.head[:], frame)
}

// write writes the frames in pcap format.
func (r *recent) write(w io.Writer) error {
	p := pcapgo.NewWriterNanos(w)
	if err := p.WriteFileHeader(recentHead, layers.LinkTypeEthernet); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.frames {
		f := &r.frames[(r.next+i)%len(r.frames)]
		if err := p.WritePacket(gopacket.CaptureInfo{Timestamp: f.at, CaptureLength: f.got, Length: f.length},
			f.head[:f.got]); err != nil {
			return err
		}
	}
	return nil
}
