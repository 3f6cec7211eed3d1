package html

import (
	"io"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/lesson"
)

// DefaultMax is the default limit on the packets in a page. A packet takes about 400 bytes.
const DefaultMax = 20_000

// Options configure a page. The zero value is usable.
type Options struct {
	Title string // title, such as the name of the capture file
	Max   int    // maximum number of packets; 0 means [DefaultMax]
}

// Page collects packets and writes the page. It is an output of a trace.Pipeline.
type Page struct {
	opts    Options
	begin   time.Time
	end     time.Duration // time of the latest packet after the first
	kept    selection
	teacher *lesson.Teacher
	lessons table[lesson.Lesson]
	series  collector
	kinds   kinds

	scratch []byte // for restore
	view    trace.Packet
	flow    trace.Flow // for asSeen
	message trace.Message
}

// New returns an empty page.
func New(opts Options) *Page {
	if opts.Max <= 0 {
		opts.Max = DefaultMax
	}
	return &Page{opts: opts, kept: newSelection(opts.Max), teacher: lesson.NewTeacher(0),
		kinds: kinds{}}
}

// Packet adds a packet; the error is always nil. If the packets exceed [Options.Max], the page
// keeps those with warnings and errors, those around them, and the first others. Packet copies what
// is valid only during the call. WriteTo reads k.Flow and k.Message again, when they are final.
func (p *Page) Packet(k *trace.Packet) error {
	if p.kept.seen == 0 {
		p.begin = k.Time
	}
	p.end = max(p.end, k.Time.Sub(p.begin))
	var lessons []int
	for _, l := range p.teacher.Teach(k) {
		lessons = append(lessons, p.lessons.of(l))
	}
	p.kinds.add(k)
	p.kept.add(k, p.series.add(k, p.begin), lessons)
	return nil
}

// Omitted returns the number of packets that did not fit in the page.
func (p *Page) Omitted() int { return p.kept.omitted() }

// restore returns the packet of e with as many bytes as were captured, as the packages fields and
// filter expect. Bytes after the headers have no meaning. The packet is valid until the next call.
func (p *Page) restore(e *kept) *trace.Packet {
	if len(p.scratch) < e.captured {
		p.scratch = make([]byte, e.captured)
	}
	p.view = e.packet
	p.view.Bytes = p.scratch[:e.captured]
	clear(p.view.Bytes[min(e.captured, copy(p.view.Bytes, e.packet.Bytes)):])
	return &p.view
}

// asSeen returns what restore returns, with flow and message as filters saw them at the time of the
// packet.
func (p *Page) asSeen(e *kept) *trace.Packet {
	k := p.restore(e)
	if k.Flow != nil {
		p.flow = trace.Flow{Number: k.Flow.Number, Ends: e.ends, ULP: e.ulp}
		k.Flow = &p.flow
	}
	if k.Message != nil {
		p.message = trace.Message{Number: k.Message.Number, Verb: e.verb}
		k.Message = &p.message
	}
	return k
}

// WriteTo writes the page to w.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	c := &counter{w: w}
	err := p.write(c)
	return c.n, err
}

// counter counts the bytes that it writes.
type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}

// table assigns indexes from 0 to distinct values.
type table[T comparable] struct {
	list  []T
	index map[T]int
}

// of returns the index of v, which it adds if it is new.
func (t *table[T]) of(v T) int {
	if i, ok := t.index[v]; ok {
		return i
	}
	if t.index == nil {
		t.index = map[T]int{}
	}
	t.index[v] = len(t.list)
	t.list = append(t.list, v)
	return len(t.list) - 1
}
