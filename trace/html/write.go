package html

import (
	"bufio"
	"encoding/json"
	"html/template"
	"io"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/filter"
)

// tables are values that packets of the page share, in order of first appearance.
type tables struct {
	addrs    table[string]
	opcodes  table[uint8]
	flows    table[*trace.Flow]
	messages table[*trace.Message]

	nth map[*trace.Flow]int // kept.nth of the latest packet of each flow, before flows were merged
}

// write writes the page. The data is written packet by packet, so that the memory for it does not
// grow with the page.
func (p *Page) write(w io.Writer) error {
	p.kept.shorten(0)
	parts := parts()
	err := parts.head.Execute(w, map[string]any{
		"Title": p.opts.Title, "Policy": policy(parts.script, parts.style), "Style": template.CSS(parts.style),
	})
	if err != nil {
		return err
	}
	j := &jsonWriter{w: bufio.NewWriter(w)}
	j.text(`<script type="application/json" id="data">`)
	p.data(j)
	j.text("</script>\n")
	if err := j.flush(); err != nil {
		return err
	}
	return parts.tail.Execute(w, map[string]any{"Script": template.JS(parts.script)})
}

// data writes the JSON in the page. The script reads it.
func (p *Page) data(j *jsonWriter) {
	t := tables{nth: map[*trace.Flow]int{}}
	j.text("{")
	j.member("title", p.opts.Title)
	begin := [2]int64{} // seconds and nanoseconds since 1970
	if p.kept.seen > 0 {
		begin = [2]int64{p.begin.Unix(), int64(p.begin.Nanosecond())}
	}
	j.member("begin", begin)
	j.member("seen", p.kept.seen)
	j.member("end", p.end.Nanoseconds()) // of the last packet, after the first
	j.member("leftOut", p.Omitted())

	j.member("kinds", p.kinds.list())
	j.list("packets", len(p.kept.list), func(i int) any { return p.record(&t, i) })
	j.member("addrs", orEmpty(t.addrs.list))
	j.list("opcodes", len(t.opcodes.list), func(i int) any { // number, name, label, operation, service, MIDDLE
		o := bth.Opcode(t.opcodes.list[i])
		info := o.Info()
		return [6]any{hexOf(uint8(o), 2), info.Name, short(o), info.Op.String(), info.Service.String(),
			info.Pos == bth.Middle}
	})
	merged := p.series.current()
	j.list("flows", len(t.flows.list), func(i int) any {
		f := flowOf(t.flows.list[i])
		for _, part := range merged[t.flows.list[i]] {
			f.LeftOut += p.series.flows[part].packets - t.nth[part]
		}
		return f
	})
	j.list("messages", len(t.messages.list), func(i int) any { return messageOf(t.messages.list[i]) })
	j.list("lessons", len(p.lessons.list), func(i int) any {
		l := p.lessons.list[i]
		return [3]string{l.Title, l.Text, l.Rule}
	})
	c := columns{page: p}
	all := filter.Fields()
	j.list("fields", len(all), func(i int) any { return c.of(all[i]) })
	j.member("total", seriesOf(&p.series.total))
	j.list("series", len(t.flows.list), func(i int) any { return seriesOf(p.series.of(merged[t.flows.list[i]])) })
	j.text("}")
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// jsonWriter writes an object member by member. Its first error stops it.
type jsonWriter struct {
	w    *bufio.Writer
	more bool // a member precedes
	err  error
}

func (j *jsonWriter) text(s string) {
	if j.err == nil {
		_, j.err = j.w.WriteString(s)
	}
}

// value writes v. Marshal escapes what HTML gives a meaning to.
func (j *jsonWriter) value(v any) {
	if j.err != nil {
		return
	}
	b, err := json.Marshal(v)
	if err == nil {
		_, err = j.w.Write(b)
	}
	j.err = err
}

func (j *jsonWriter) name(name string) {
	if j.more {
		j.text(",\n")
	}
	j.more = true
	j.value(name)
	j.text(":")
}

func (j *jsonWriter) member(name string, v any) {
	j.name(name)
	j.value(v)
}

// list writes a list of n values, calling of for one after the other.
func (j *jsonWriter) list(name string, n int, of func(int) any) {
	j.name(name)
	j.text("[")
	for i := range n {
		if i > 0 {
			j.text(",\n")
		}
		j.value(of(i))
	}
	j.text("]")
}

func (j *jsonWriter) flush() error {
	if j.err == nil {
		j.err = j.w.Flush()
	}
	return j.err
}
