package record

import (
	"cmp"
	"io"
	"sync"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// DefaultBuffer is the default of Options.Buffer.
const DefaultBuffer = 16 << 20

// description is the description of every interface in a trace.
const description = "what gorxe sent and received"

// Options configure a Recorder.
type Options struct {
	Application string // application that records, with its version
	Buffer      int    // maximum number of bytes of packets that wait to be written; 0: DefaultBuffer
	// MaxBytes is the maximum length of a file in bytes; 0: no limit. Frames that would exceed it
	// are dropped and counted or, with Rotate, begin the next file: the full file is renamed with
	// the suffix ".1", which replaces an earlier one.
	MaxBytes int64
	Rotate   bool
	// Keep, if set, selects the packets to record. It is called under a lock and must not retain
	// the TapFrame.
	Keep func(packet.Direction, packet.TapFrame) bool
	// Failed, if set, is called once with the first error of the file, by the writing goroutine.
	// It must not call methods of the Recorder except Stats.
	Failed func(error)
}

// Recorder records the frames of links that [Recorder.Wrap] has wrapped. Its methods are safe for
// concurrent use.
type Recorder struct {
	o        Options
	wake     chan struct{} // the buffer is not empty, or the recorder is closed
	halfFull chan struct{} // the buffer is more than half full
	over     chan struct{} // closed when everything is written

	mu       sync.Mutex
	filling  *buffer
	lost     uint64 // frames dropped since the last frame was added
	stats    Stats
	closed   bool
	closing  chan struct{}    // closed when closed is set
	outgoing map[key]outgoing // notes of an Observer for packets about to be sent; nil without an Observer
	pending  []string         // notes that wait for a frame

	// Only run uses these fields.
	file   *file // nil without a file
	out    *pcapng.Writer
	frame  framer
	err    error // first error of the file
	closes func() error
}

// Stats counts frames.
type Stats struct {
	Frames  uint64 // recorded
	Lost    uint64 // dropped: the buffer was full
	Refused uint64 // dropped: the file has its maximum length, or a write failed
}

// New returns a Recorder that writes to w. It writes the header at once, and frames as soon as
// possible. After an error of w all frames are dropped: see [Recorder.Close].
func New(w io.Writer, o Options) *Recorder {
	r := newRecorder(o)
	r.out = r.writer(w)
	r.closes = r.out.Flush
	go r.run()
	return r
}

// Create returns a Recorder that writes to a file, which is truncated if it exists. A new file is
// accessible to its owner only, because packets may contain private data.
func Create(path string, o Options) (*Recorder, error) {
	f, err := create(path)
	if err != nil {
		return nil, err
	}
	r := newRecorder(o)
	r.file = f
	r.out = r.writer(f)
	r.closes = func() error {
		err := r.out.Flush()
		if cerr := r.file.Close(); err == nil {
			err = cerr
		}
		return err
	}
	go r.run()
	return r, nil
}

func newRecorder(o Options) *Recorder {
	if o.Buffer <= 0 {
		o.Buffer = DefaultBuffer
	}
	return &Recorder{o: o, wake: make(chan struct{}, 1), halfFull: make(chan struct{}, 1), over: make(chan struct{}),
		closing: make(chan struct{}), filling: &buffer{}}
}

func (r *Recorder) writer(w io.Writer) *pcapng.Writer {
	return pcapng.NewWriter(w, pcapng.Options{Application: r.o.Application, Description: description})
}

// Wrap returns l with a tap: r records its packets. name is the interface name in the capture; ""
// selects the address of l. If links are nested, such as fault links, the capture shows the effect
// of links around the returned link on outgoing frames, but not the effect of links inside it.
func (r *Recorder) Wrap(name string, l packet.Link) packet.Link {
	name = cmp.Or(name, l.Local().String())
	return packet.Tap(l, func(dir packet.Direction, f packet.TapFrame) { r.see(name, dir, &f) })
}

// see records the frame f; the taps call it. It allocates only while the buffer grows.
func (r *Recorder) see(name string, dir packet.Direction, f *packet.TapFrame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || r.o.Keep != nil && !r.o.Keep(dir, *f) {
		return
	}
	e := entry{at: time.Now(), name: name, dir: dir, frame: *f, lost: r.lost}
	r.note(&e)
	if !r.filling.add(r.o.Buffer, &e) {
		r.lost++
		r.stats.Lost++
		return
	}
	r.lost = 0
	r.wakeWriter()
	if r.outgoing != nil && len(r.filling.data) > r.o.Buffer/2 {
		select {
		case r.halfFull <- struct{}{}:
		default:
		}
	}
}

func (r *Recorder) wakeWriter() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// run writes the buffered frames until Close.
func (r *Recorder) run() {
	defer close(r.over)
	r.failed(r.out.Flush()) // write the header first, so a full disk is detected immediately
	spare := &buffer{}
	for closed := false; !closed; {
		<-r.wake
		var full *buffer
		full, closed = r.take(spare)
		var done Stats
		whole := r.err == nil
		for i := range full.entries {
			if r.write(full, &full.entries[i]) {
				done.Frames++
			} else {
				done.Refused++
			}
		}
		r.failed(r.out.Flush())
		if whole && r.err != nil { // it is unknown how much of the buffer is in the file
			done = Stats{Refused: done.Frames + done.Refused}
		}
		full.reset()
		spare = full
		r.mu.Lock()
		r.stats.Frames += done.Frames
		r.stats.Refused += done.Refused
		r.mu.Unlock()
	}
	r.failed(r.closes())
}

// failed stores err if it is the first error, and reports it to Options.Failed. err may be nil.
func (r *Recorder) failed(err error) {
	if err == nil || r.err != nil {
		return
	}
	r.err = err
	if r.o.Failed != nil {
		r.o.Failed(err)
	}
}

// take returns the buffer with the frames to write and makes spare, which is empty, the buffer to
// fill. Frames that an Observer may still annotate move to spare. closed reports whether the
// recorder is closed.
func (r *Recorder) take(spare *buffer) (full *buffer, closed bool) {
	r.mu.Lock()
	holds := r.outgoing != nil && !r.closed
	r.mu.Unlock()
	if holds {
		select {
		case <-time.After(hold):
		case <-r.closing:
		case <-r.halfFull:
			holds = false
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	full, r.filling = r.filling, spare
	if holds && !r.closed {
		if !full.since(time.Now().Add(-hold), spare) {
			r.wakeWriter()
		}
	}
	return full, r.closed
}

// write writes the frame of e, whose data is in b. It returns false if the file has its maximum
// length or a write has failed.
func (r *Recorder) write(b *buffer, e *entry) bool {
	f, comment := r.frame.make(b, e)
	f.Comments = e.notes
	if r.file != nil && r.o.MaxBytes > 0 && r.err == nil {
		// Most of it is data; a block and an interface description take less than blockRoom.
		if r.file.len+int64(r.out.Buffered()+len(f.Data)+len(comment)+blockRoom) > r.o.MaxBytes {
			if !r.o.Rotate {
				return false
			}
			r.rotate()
		}
	}
	if r.err == nil {
		r.failed(r.out.Frame(f, comment))
	}
	return r.err == nil
}

// blockRoom exceeds the size of a block in bytes without its data.
const blockRoom = 512

// rotate continues in a new file.
func (r *Recorder) rotate() {
	err := r.out.Flush()
	if err == nil {
		err = r.file.rotate()
	}
	if err != nil {
		r.failed(err)
		return
	}
	r.out = r.writer(r.file)
}

// Stats returns the current counts.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Close writes the buffered frames and closes the file. The links keep working without being
// recorded. It returns the first error of the file, after which frames were dropped. Further
// calls return the same error.
func (r *Recorder) Close() error {
	r.mu.Lock()
	if !r.closed {
		r.closed = true
		close(r.closing)
	}
	r.mu.Unlock()
	r.wakeWriter()
	<-r.over
	return r.err
}
