package linktest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/gorxe/gorxe/packet"
)

// A frame of the suite has a header of 8 bytes (frame number, payload length), payload from
// pattern, and a trailer of 6 bytes with the values that Prepare set: source port, ID, flags.
const (
	headerLen  = 8
	trailerLen = 6
	overhead   = headerLen + trailerLen
)

// pattern is the data that payloads are taken from.
var pattern = func() []byte {
	p := make([]byte, 256<<10)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}()

// payload returns the payload of frame n, size bytes.
func payload(n uint32, size int) []byte {
	off := int(n*977) % (len(pattern) / 2)
	return pattern[off : off+size]
}

// end is one end of a link under test.
type end struct {
	t     *testing.T
	link  packet.Link
	from  packet.Receiver // link, or the Receiver of a group that the link has joined
	to    packet.Path
	batch *packet.Batch
	in    *packet.RecvBatch
	next  int    // number of frames of in that recv has returned
	sent  uint32 // number of frames sent
	got   uint32
}

// room returns the maximum payload of a frame of the suite on the link.
func (e *end) room() int {
	ip := 40
	if e.link.Local().Is4() {
		ip = 20
	}
	return min(e.link.Caps().MTU, 65535) - ip - 8 - overhead
}

// put appends a frame with size bytes of payload, in the given number of pieces, to the batch.
func (e *end) put(path *packet.Path, size, pieces int) *packet.Frame {
	f := e.batch.AppendFrame()
	if f == nil {
		e.t.Fatalf("batch of %d is full at %d frames", e.batch.Cap(), e.batch.Len())
	}
	f.Path = path
	f.Header = binary.BigEndian.AppendUint32(f.Header, e.sent)
	f.Header = binary.BigEndian.AppendUint32(f.Header, uint32(size))
	p := payload(e.sent, size)
	e.sent++
	for i := range pieces {
		n := len(p) / (pieces - i)
		f.Payload = append(f.Payload, p[:n])
		p = p[n:]
	}
	return f
}

// flush sends and empties the batch as a device does: it prepares, seals and sends the frames, and
// repeats that after ErrReprepare.
func (e *end) flush() error {
	err := e.send()
	e.batch.Reset()
	return err
}

func (e *end) send() error {
	for {
		e.link.Prepare(e.batch)
		for i := e.batch.Sent; i < e.batch.Len(); i++ {
			f := e.batch.At(i)
			f.Trailer = binary.BigEndian.AppendUint16(f.Trailer[:0], f.SrcPort)
			f.Trailer = binary.BigEndian.AppendUint16(f.Trailer, f.ID)
			f.Trailer = binary.BigEndian.AppendUint16(f.Trailer, f.FlagsFragment)
		}
		if err := e.link.Send(e.batch); !errors.Is(err, packet.ErrReprepare) {
			return err
		}
	}
}

func (e *end) mustFlush() {
	e.t.Helper()
	if err := e.flush(); err != nil {
		e.t.Fatalf("Send: %v", err)
	}
}

// recv returns the next frame. It does not allocate.
func (e *end) recv() (*packet.Received, error) {
	if e.next == len(e.in.Frames) {
		e.next = 0
		if err := e.from.Recv(e.in); err != nil {
			return nil, err
		}
		if len(e.in.Frames) == 0 {
			return nil, errors.New("neither a frame nor an error from Recv")
		}
	}
	f := &e.in.Frames[e.next]
	e.next++
	return f, nil
}

// expect receives a frame and checks that it is the next frame of the suite, complete and
// unchanged.
func (e *end) expect() *packet.Received {
	e.t.Helper()
	f, err := e.recv()
	if err != nil {
		e.t.Fatalf("Recv: %v", err)
	}
	if err := check(f, e.got); err != nil {
		e.t.Fatal(err)
	}
	e.got++
	return f
}

// expectAll calls expect n times.
func (e *end) expectAll(n int) {
	e.t.Helper()
	for range n {
		e.expect()
	}
}

// check returns an error if f is not frame n of the suite.
func check(f *packet.Received, n uint32) error {
	d := f.Data
	if len(d) < overhead {
		return fmt.Errorf("frame %d: got %d bytes, less than header and trailer", n, len(d))
	}
	if got := binary.BigEndian.Uint32(d); got != n {
		return fmt.Errorf("got frame %d, want frame %d: frames lost or out of order", got, n)
	}
	size := int(binary.BigEndian.Uint32(d[4:]))
	if len(d) != size+overhead {
		return fmt.Errorf("frame %d: got %d bytes, %d were sent", n, len(d), size+overhead)
	}
	if !bytes.Equal(d[headerLen:len(d)-trailerLen], payload(n, size)) {
		return fmt.Errorf("frame %d: the payload of %d bytes was changed", n, size)
	}
	port, id, flags := preparedValues(d)
	if f.SrcPort != port {
		return fmt.Errorf("frame %d: source port %d, Prepare announced %d", n, f.SrcPort, port)
	}
	if f.HeaderSeen && (f.ID != id || f.FlagsFragment != flags) {
		return fmt.Errorf("frame %d: ID %d, flags %#x; Prepare announced %d, %#x", n, f.ID, f.FlagsFragment, id, flags)
	}
	return nil
}

// preparedValues returns the values that Prepare set for the frame with data d.
func preparedValues(d []byte) (port, id, flags uint16) {
	t := d[len(d)-trailerLen:]
	return binary.BigEndian.Uint16(t), binary.BigEndian.Uint16(t[2:]), binary.BigEndian.Uint16(t[4:])
}

// watch closes the links if the test runs for a minute, so that a test that hangs fails at the
// blocked call.
func watch(t *testing.T, links ...packet.Link) {
	timer := time.AfterFunc(time.Minute, func() {
		for _, l := range links {
			l.Close()
		}
	})
	t.Cleanup(func() { timer.Stop() })
}
