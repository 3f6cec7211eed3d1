package record

import (
	"cmp"
	"io"
	"sync"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// DefaultBuffer is how many bytes of packets wait to be written, at most, unless Options say otherwise.
const DefaultBuffer = 16 << 20

// description is that of every interface in a trace.
const description = "what gorxe sent and received"

// Options are how a Recorder writes.
type Options struct {
	Application string // that records, with its version
	Buffer      int    // bytes of packets that may wait to be written; 0 is DefaultBuffer
	// MaxBytes is how long a file may become, in bytes; 0 is without limit. What would make it longer is left out and counted,
	// or begins the next file where Rotate is set: the full one then has ".1" after its name, in place of the one that had.
	MaxBytes int64
	Rotate   bool
	// Keep, if set, chooses what is recorded. It is called under a lock, with what it may not keep.
	Keep func(packet.Direction, packet.TapFrame) bool
	// Failed, if set, is called once with the first error of the file, when it happens, by the goroutine that writes. It must not
	// call the Recorder, except for Stats.
	Failed func(error)
}

// Recorder records the frames of links that [Recorder.Wrap] has wrapped. Its methods may be called by many goroutines.
type Recorder struct {
	o       Options
	wake    chan struct{} // something is in the buffer, or closed
	pressed chan struct{} // there is much in it
	over    chan struct{} // closed when all is written

	mu      sync.Mutex
	filling *buffer
	lost    uint64 // frames that are left out since the last that is in the buffer
	stats   Stats
	closed  bool
	closing chan struct{}   // closed with closed
	leaving map[key]leaving // what an Observer says of what is going to be sent; nil without one
	pending []string        // notes that wait for a frame

	// Of the goroutine that writes.
	file   *file // nil where there is none
	out    *pcapng.Writer
	frame  framer
	err    error // the first of the file
	closes func() error
}

// Stats counts frames.
type Stats struct {
	Frames uint64 // recorded
	Lost   uint64 // left out: they came faster than they could be written
	Beyond uint64 // left out: the file is as long as it may be, or cannot be written to
}

// New returns a Recorder that writes to w. What comes is written at once. An error of w ends it: see [Recorder.Close].
func New(w io.Writer, o Options) *Recorder {
	r := newRecorder(o)
	r.out = r.writer(w)
	r.closes = r.out.Flush
	go r.run()
	return r
}

// Create returns a Recorder to a file, which is emptied if it exists. One that it makes is for its user alone: packets may hold
// anybody's data.
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
	return &Recorder{o: o, wake: make(chan struct{}, 1), pressed: make(chan struct{}, 1), over: make(chan struct{}), closing: make(chan struct{}), filling: &buffer{}}
}

func (r *Recorder) writer(w io.Writer) *pcapng.Writer {
	return pcapng.NewWriter(w, pcapng.Options{Application: r.o.Application, Description: description})
}

// Wrap returns l with what it sends and receives recorded, under the name of an interface; empty is the address of l. It is the
// place of the wrapped link among others that decides what the trace shows: what a link around it does to frames that leave is
// in it, what one inside does is not.
func (r *Recorder) Wrap(name string, l packet.Link) packet.Link {
	name = cmp.Or(name, l.Local().String())
	return packet.Tap(l, func(dir packet.Direction, f packet.TapFrame) { r.see(name, dir, &f) })
}

// see is what the taps call. It allocates nothing but while the buffer grows.
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
	if r.leaving != nil && len(r.filling.data) > r.o.Buffer/2 {
		select {
		case r.pressed <- struct{}{}:
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

// run writes what is in the buffer, until Close.
func (r *Recorder) run() {
	defer close(r.over)
	r.failed(r.out.Flush()) // the header: a disk that is full shows at once
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
				done.Beyond++
			}
		}
		r.failed(r.out.Flush())
		if whole && r.err != nil { // nobody knows how much of it is in the file
			done = Stats{Beyond: done.Frames + done.Beyond}
		}
		full.reset()
		spare = full
		r.mu.Lock()
		r.stats.Frames += done.Frames
		r.stats.Beyond += done.Beyond
		r.mu.Unlock()
	}
	r.failed(r.closes())
}

// failed keeps the first error, and tells of it.
func (r *Recorder) failed(err error) {
	if err == nil || r.err != nil {
		return
	}
	r.err = err
	if r.o.Failed != nil {
		r.o.Failed(err)
	}
}

// take takes what is to be written, and leaves spare to be filled. What an Observer may have something to say of is left there.
func (r *Recorder) take(spare *buffer) (full *buffer, closed bool) {
	r.mu.Lock()
	holds := r.leaving != nil && !r.closed
	r.mu.Unlock()
	if holds {
		select {
		case <-time.After(hold):
		case <-r.closing:
		case <-r.pressed:
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

// write writes a frame, and reports whether there is room for it.
func (r *Recorder) write(b *buffer, e *entry) bool {
	f, comment := r.frame.make(b, e)
	f.Comments = e.notes
	if r.file != nil && r.o.MaxBytes > 0 && r.err == nil {
		// Most is data; a block and the description of an interface are less than blockRoom.
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

// blockRoom is more than a block takes for other things than data.
const blockRoom = 512

// rotate goes on in another file.
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

// Stats returns the counts so far.
func (r *Recorder) Stats() Stats {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.stats
}

// Close writes what is in the buffer and ends the file. Links go on without being recorded. The error is the first of the file;
// what came after it was left out. Closing again returns the same.
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
