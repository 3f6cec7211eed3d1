package html

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/lesson"
)

// DefaultMax is the default limit on the packets in a page. A packet takes about 300 bytes.
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
	packets []packet
	leftOut int
	teacher *lesson.Teacher

	// Tables of values that packets share, in order of first appearance.
	addrs    table[string]
	opcodes  table[uint8]
	flows    table[*trace.Flow]
	messages table[*trace.Message]
	lessons  table[lesson.Lesson]
}

// New returns an empty page.
func New(opts Options) *Page {
	if opts.Max <= 0 {
		opts.Max = DefaultMax
	}
	return &Page{opts: opts, teacher: lesson.NewTeacher(0)}
}

// Packet adds a packet, unless the page is full; the error is always nil. It copies what is valid
// only during the call. WriteTo reads k.Flow and k.Message again, when they are final.
func (p *Page) Packet(k *trace.Packet) error {
	if len(p.packets) >= p.opts.Max {
		p.leftOut++
		return nil
	}
	if len(p.packets) == 0 {
		p.begin = k.Time
	}
	p.packets = append(p.packets, p.record(k))
	return nil
}

// Omitted returns the number of packets that did not fit in the page.
func (p *Page) Omitted() int { return p.leftOut }

//go:embed page
var files embed.FS

// scripts are the files of the script, in order.
var scripts = []string{"data", "dom", "filter", "plot", "details", "ladder", "main"}

// parts returns the template, style and script. They are loaded on first use.
var parts = sync.OnceValue(func() (p struct {
	page          *template.Template
	style, script string
}) {
	p.page = template.Must(template.ParseFS(files, "page/page.html"))
	p.style, p.script = read("style.css"), join(scripts)
	return p
})

func read(name string) string {
	b, err := files.ReadFile("page/" + name)
	if err != nil {
		panic(err) // embedded, so it cannot fail
	}
	return string(b)
}

func join(names []string) string {
	var b bytes.Buffer
	b.WriteString("\n'use strict';\n(() => {\n")
	for _, n := range names {
		b.WriteString(read(n + ".js"))
	}
	b.WriteString("})();\n")
	return b.String()
}

// policy returns the Content Security Policy, which allows only the given script and style.
func policy(script, style string) string {
	return "default-src 'none'; script-src " + source(script) + "; style-src " + source(style) +
		"; img-src data:; base-uri 'none'; form-action 'none'"
}

func source(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// WriteTo writes the page to w.
func (p *Page) WriteTo(w io.Writer) (int64, error) {
	c := &counter{w: w}
	parts := parts()
	err := parts.page.Execute(c, map[string]any{
		"Title":  p.opts.Title,
		"Policy": policy(parts.script, parts.style),
		"Style":  template.CSS(parts.style),
		"Script": template.JS(parts.script),
		"Data":   p.data(),
	})
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
