package tracecmd

import (
	"bufio"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/pcapng"
	"github.com/gorxe/gorxe/trace/text"
)

// output is a kind of output of 'gorxe trace'.
type output struct {
	asked  func(*params) bool // reports whether the flags request it
	stdout bool               // writes to standard output; only the first requested one of these is used
	open   func(*app.App, *params, *files) ([]trace.Output, finish, error)
}

// finish writes the end of an output after the last packet, and closes its file. It may be nil.
type finish func() error

// outputs lists all kinds. The last one is the default.
var outputs = []output{
	{asked: func(p *params) bool { return p.pcapng != "" }, open: openPcapng},
	{asked: func(p *params) bool { return p.html != "" }, open: openHTML},
	{asked: func(p *params) bool { return p.why != "" }, stdout: true, open: openWhy},
	{asked: func(p *params) bool { return p.stats.kind() != "" }, stdout: true, open: openStatistics},
	{asked: func(p *params) bool { return p.stats.csv }, stdout: true, open: openCSV},
	{asked: func(p *params) bool { return p.json }, stdout: true, open: openJSON},
	{asked: func(p *params) bool { return p.shown.format == formatFields }, stdout: true, open: openColumns},
	{asked: func(p *params) bool { return p.messages || p.flows }, stdout: true, open: openLines},
	{asked: func(p *params) bool { return p.pcapng == "" && p.html == "" }, stdout: true, open: openText},
}

// open opens the outputs that p requests.
func (t *tracing) open(a *app.App, p *params) error {
	p.stats.configure(p, t)
	var chosen []output
	used := false // standard output is used
	for _, o := range outputs {
		if !o.asked(p) || o.stdout && used {
			continue
		}
		used = used || o.stdout
		chosen = append(chosen, o)
	}
	if used || p.pcapng == "-" {
		t.files.use(a.Stdout, "standard output, which is written as well")
	}
	for _, o := range chosen {
		out, finish, err := o.open(a, p, &t.files)
		if err != nil {
			t.files.abandon()
			return err
		}
		t.Outputs = append(t.Outputs, out...)
		if finish != nil {
			t.finishes = append(t.finishes, finish)
		}
	}
	if err := t.files.empty(); err != nil {
		t.files.abandon()
		return err
	}
	return nil
}

// finish finishes all outputs.
func (t *tracing) finish() error {
	var errs []error
	for _, f := range t.finishes {
		errs = append(errs, f())
	}
	return errors.Join(errs...)
}

func openText(a *app.App, p *params, _ *files) ([]trace.Output, finish, error) {
	return []trace.Output{text.NewWriter(a.Stdout, text.Options{
		Fields: p.verbose, Hex: p.hex, Payload: p.payload, Explain: p.explain, Colour: app.NewStyle(a.Stdout).On,
		Times: p.shown.times(),
	})}, nil, nil
}

// openLines opens an output with a line for each message, for each flow, or messages first and
// then flows.
func openLines(a *app.App, p *params, _ *files) (out []trace.Output, _ finish, _ error) {
	coloured := app.NewStyle(a.Stdout).On
	if p.messages {
		out = append(out, text.NewMessages(a.Stdout, coloured))
	}
	if p.flows {
		out = append(out, text.NewFlows(a.Stdout, coloured))
	}
	return out, nil, nil
}

// jsonOutput writes the requested kinds of objects, one on each line.
type jsonOutput struct {
	*json.Writer
	packets, messages, flows bool
}

func openJSON(a *app.App, p *params, _ *files) ([]trace.Output, finish, error) {
	w := json.NewWriter(bufio.NewWriterSize(a.Stdout, 64<<10))
	w.Payload = p.payload
	all := !p.messages && !p.flows
	return []trace.Output{&jsonOutput{w, all, all || p.messages, all || p.flows}}, nil, nil
}

func (o *jsonOutput) Packet(p *trace.Packet) error {
	if !o.packets {
		return nil
	}
	return o.Writer.Packet(p)
}

func (o *jsonOutput) Message(m *trace.Message) error {
	if !o.messages {
		return nil
	}
	return o.Writer.Message(m)
}

func (o *jsonOutput) Flow(f *trace.Flow) error {
	if !o.flows {
		return nil
	}
	return o.Writer.Flow(f)
}

// openHTML creates the file first, so that a missing permission is reported before a long capture
// is read.
func openHTML(a *app.App, p *params, s *files) ([]trace.Output, finish, error) {
	title := standardInput
	if p.source != "" && p.source != "-" {
		title = filepath.Base(p.source)
	}
	file, err := s.create("--html", p.html)
	if err != nil {
		return nil, nil, err
	}
	page := html.New(html.Options{Title: title})
	write := func() error {
		b := bufio.NewWriter(file)
		_, err := page.WriteTo(b)
		if err = errors.Join(err, b.Flush(), file.Close()); err != nil {
			return err
		}
		if n := page.Omitted(); n > 0 {
			fmt.Fprintf(a.Stderr,
				"%s has %s, first those around warnings and errors; %d more are left out: choose with --filter\n",
				p.html, app.Plural(html.DefaultMax, "packet"), n)
		}
		return nil
	}
	return []trace.Output{page}, write, nil
}

// openPcapng rewrites the capture with the findings as comments. Frames without packets are
// written too, so that frame numbers do not change.
func openPcapng(a *app.App, p *params, s *files) ([]trace.Output, finish, error) {
	o := pcapng.Options{
		Application: "gorxe " + app.BuildVersion(),
		Description: "frames of a capture, with what gorxe found in them as comments",
	}
	if p.pcapng == "-" {
		return []trace.Output{pcapng.NewPackets(a.Stdout, o)}, nil, nil
	}
	file, err := s.create("--pcapng", p.pcapng)
	if err != nil {
		return nil, nil, err
	}
	return []trace.Output{pcapng.NewPackets(file, o)}, file.Close, nil
}
