// Package tracecmd implements 'gorxe trace', which reads, filters and explains captures. tracing
// is the pipeline from a capture to its outputs; files prevents that an output overwrites the
// capture.
package tracecmd

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/sources"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/filter"
)

// params are the parameters of 'gorxe trace'.
type params struct {
	source  string   // path of the first file, "-", or empty
	sources []string // paths of all files
	many    manyFlags
	live    sources.Live
	why     string // line of a log
	filter  string
	dedupe  bool

	verbose, hex, payload    bool
	messages, flows, explain bool
	pcapng                   string // path of a file, or "-"
	json                     bool
	html                     string // path of a file
	shown                    shownFlags
	stats                    statsFlags
}

// Command makes the command 'gorxe trace'.
func Command(a *app.App) *cobra.Command {
	p := &params{}
	c := &cobra.Command{
		Use:   "trace [FILE...|-]",
		Short: "Explain the RoCEv2 packets of a capture",
		Long: `Reads a capture (pcap or pcapng, also in gzip) from FILE, or from standard input without FILE or
with -, and writes a line for each RoCE or InfiniBand packet, also in tunnels (VXLAN, Geneve, GRE,
ERSPAN, MPLS, IP-in-IP), and for each iWARP message, Ultra Ethernet packet and pause frame. Frames
of other protocols are counted. Payload may be private and is shown only on request. Of several
FILEs, the files of a rotated capture are read as one, in order of time. Captures of the same
traffic at different points, given in the order of the path, are joined: the report says where each
packet was lost, and how long packets took from one point to the next.

` + filterHelp() + columnHelp(),
		Example: `  gorxe trace capture.pcapng
  gorxe trace -v --filter 'psn 100..120 and qp 0x11' capture.pcapng
  gorxe trace --filter error capture.pcap.gz
  tcpdump -i eth0 -w - udp port 4791 | gorxe trace
  gorxe trace -i eth0 --flows
  gorxe trace --daemon --filter warning
  gorxe trace --flows rotated_0*.pcapng
  gorxe trace client.pcapng server.pcapng
  gorxe trace client.pcapng switch.pcap server.pcapng
  gorxe trace capture.pcapng --why 'Failed status 12: wr_id 0 syndrom 0x81'
  gorxe trace --summary cluster.pcap
  gorxe trace --csv --series=100ms cluster.pcap`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			p.source, p.sources = app.HostArg(args), args
			if err := p.live.Check(p.source); err != nil {
				return err
			}
			if err := p.checkMany(); err != nil {
				return err
			}
			if err := p.checkWhy(); err != nil {
				return err
			}
			if err := p.check(); err != nil {
				return err
			}
			return run(c.Context(), a, p)
		},
	}
	fs := c.Flags()
	fs.SortFlags = false
	p.live.Add(fs)
	p.many.add(fs)
	fs.BoolVarP(&p.verbose, "verbose", "v", false,
		"every header field, by its name in the InfiniBand specification (IBA)")
	fs.BoolVar(&p.hex, "hex", false, "every header field, with its bytes")
	fs.BoolVar(&p.payload, "payload", false, "the bytes of the payload")
	fs.BoolVar(&p.messages, "messages", false,
		"one line per message instead: verb, size, packets, latency, retransmissions")
	fs.BoolVar(&p.flows, "flows", false,
		"one line per connection: how it began, MTU, throughput, round trips, losses, errors")
	fs.BoolVar(&p.explain, "explain", false,
		"explain each concept at the first packet that shows it (up to three per packet, the others later)")
	p.stats.add(fs)
	fs.StringVar(&p.pcapng, "pcapng", "",
		"write the frames to `FILE`, with their meaning as packet comments, which Wireshark shows")
	fs.BoolVar(&p.json, "json", false,
		"one JSON object per line: packets, messages and connections; with another view, such as --flows or --why, only its objects")
	fs.StringVar(&p.html, "html", "", "write a page for a browser to `FILE`; the page loads nothing from the network")
	fs.BoolVar(&p.dedupe, "dedupe", false,
		"leave out packets that an earlier frame has, too: captures of several interfaces, merged captures")
	fs.StringVar(&p.why, "why", "",
		"why a work request failed: the flow and the cause for a `line` of a log (NCCL, UCX, perftest, kernel, gorxe)")
	fs.StringVar(&p.filter, "filter", "", "only packets that the `expression` matches")
	p.shown.add(fs)
	return c
}

// check rejects flags that have no effect on the requested output.
func (p *params) check() error {
	if err := p.shown.check(p); err != nil {
		return err
	}
	if err := p.stats.check(p); err != nil {
		return err
	}
	instead := p.stats.kind()
	switch {
	case instead != "":
	case p.json:
		instead = "--json"
	case p.messages:
		instead = "--messages"
	case p.flows:
		instead = "--flows"
	}
	if instead == "" {
		return nil
	}
	for _, f := range []struct {
		set  bool
		name string
	}{{p.explain && p.html == "", "--explain"}, {p.verbose, "-v"}, {p.hex, "--hex"}, {p.payload, "--payload"}} {
		if f.set && !(p.json && f.name == "--payload") {
			return app.Usagef("%s is for the lines of packets, which %s replaces: omit one of them", f.name, instead)
		}
	}
	return nil
}

// filterHelp returns help on the fields of filters and the values of finding.
func filterHelp() string {
	var b strings.Builder
	b.WriteString(
		"A filter compares fields with values (qp 0x11, psn >= 5, opcode in {4, 17}); some fields have no\n" +
			"value (error). Comparisons are combined with and, or, not and parentheses. Fields:\n")
	var shark []string
	for _, f := range filter.Fields() {
		if f.Wireshark {
			shark = append(shark, f.Names[0])
			continue
		}
		fmt.Fprintf(&b, "  %-10s %-20s %s\n", f.Names[0], f.Example, f.What)
	}
	b.WriteString("The values of finding:\n")
	for _, k := range trace.Kinds() {
		fmt.Fprintf(&b, "  %-27s %s\n", k, kindMeanings[k])
	}
	b.WriteString("Further fields, named as in Wireshark (infiniband.bth.opcode, infiniband.bth.psn and\n" +
		"frame.number are other names of opcode, psn and frame):\n")
	writeList(&b, shark)
	return strings.TrimSuffix(b.String(), "\n")
}

// kindMeanings has the meaning of each finding in a few words.
var kindMeanings = map[trace.Kind]string{
	trace.WrongICRC:          "wrong invariant CRC",
	trace.RxeICRC:            "ICRC of a FLUSH as Linux rxe computes it (wrong)",
	trace.Malformed:          "packet that cannot be decoded",
	trace.Gap:                "missing PSN",
	trace.Duplicate:          "repeated packet, although nothing was lost",
	trace.Reordered:          "packet that arrived out of order",
	trace.SequenceNAK:        "responder requests a missing PSN",
	trace.ErrorNAK:           "responder refuses a request",
	trace.RNRNAK:             "responder has no receive posted",
	trace.AfterNAK:           "retransmission after a sequence NAK",
	trace.KeptEarly:          "responder had kept packets after a gap",
	trace.AfterTimeout:       "retransmission after a timeout",
	trace.AfterRNR:           "retransmission after an RNR NAK",
	trace.AfterUnknown:       "retransmission whose cause the capture does not show",
	trace.ImpliedNAK:         "later response shows that one is missing",
	trace.ReadAgain:          "READ, or its rest, requested again",
	trace.AtomicReplay:       "repeated atomic, answered with the saved result",
	trace.AckCoalesced:       "one acknowledgement for several messages",
	trace.NoCredit:           "responder gives no credits",
	trace.ECNMarked:          "packet marked by a congested switch",
	trace.Congestion:         "congestion notification packet",
	trace.CMRetry:            "retransmitted message of the connection manager",
	trace.CMRejected:         "rejected connection",
	trace.NotGoBackN:         "responder acknowledges packets that cannot have arrived (or are missing from the capture)",
	trace.InconsistentLength: "contradictory lengths",
	trace.NeverMigReq:        "host whose packets lack the MigReq bit",
	trace.PSNReused:          "one PSN for two different packets",
	trace.Unanswered:         "connection ends before the response",
}

// helpWidth is the maximum length of a line of writeList.
const helpWidth = 100

// writeList writes words in indented lines.
func writeList(b *strings.Builder, words []string) {
	line := " "
	for i, w := range words {
		if i < len(words)-1 {
			w += ","
		}
		if len(line)+1+len(w) > helpWidth {
			fmt.Fprintln(b, line)
			line = " "
		}
		line += " " + w
	}
	fmt.Fprintln(b, line)
}

// run reads a capture and writes the requested outputs.
func run(ctx context.Context, a *app.App, p *params) error {
	chosen, err := filter.Parse(p.filter)
	if err != nil {
		return app.Usagef("--%v", err)
	}
	t := &tracing{}
	t.Dedupe = p.dedupe
	t.Limit = uint64(p.shown.count)
	if p.filter != "" {
		t.Filter = chosen
	}
	if p.live.Selected() {
		return runLive(ctx, a, p, t)
	}
	if len(p.sources) > 1 {
		return runMany(ctx, a, p, t)
	}
	in, name, err := openCapture(ctx, a, p.source)
	if err != nil {
		return err
	}
	defer in.Close()
	t.files.input(in)
	p.stats.choose(a, p, in, name)
	room := int64(packetRoom)
	if p.stats.kind() != "" || p.html != "" {
		room = 0
	}
	t.memory = startMemory(room)
	defer t.memory.stop()
	read := func(ctx context.Context) error {
		r, err := capture.Open(&flushing{in, t})
		if err != nil {
			return err
		}
		if err := t.open(a, p); err != nil {
			return err
		}
		return t.run(ctx, r)
	}
	if name == standardInput || isPipe(in) {
		err = untilSilent(ctx, in, read)
	} else {
		err = read(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	printSummary(a, name, t)
	return nil
}

const standardInput = "standard input"

// openCapture opens the file, or standard input.
func openCapture(ctx context.Context, a *app.App, source string) (io.ReadCloser, string, error) {
	if source == "" || source == "-" {
		if source == "" && isTerminalReader(a.Stdin) {
			return nil, "", app.Usagef("trace needs a FILE, or a capture in standard input")
		}
		if f, ok := a.Stdin.(io.ReadCloser); ok {
			return f, standardInput, nil
		}
		return io.NopCloser(a.Stdin), standardInput, nil
	}
	f, err := app.OpenUntil(ctx, source, func() (*os.File, error) { return os.Open(source) })
	if err != nil {
		return nil, "", err
	}
	return f, source, nil
}

// isPipe reports whether r is a file that is not regular, so that more data may arrive later.
func isPipe(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && !info.Mode().IsRegular()
}

func isTerminalReader(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// tracing is a capture being read, with its output files.
type tracing struct {
	trace.Pipeline
	files    files
	finishes []finish
	memory   *memory // nil in a live capture
}

// run runs the pipeline and finishes the outputs, even if reading fails.
func (t *tracing) run(ctx context.Context, src trace.Source) error {
	err := t.Run(ctx, src)
	if e := t.finish(); err == nil {
		err = e
	}
	return err
}

// readLen is the maximum number of bytes of a read: the frames are then still in the processor's
// cache when they are decoded.
const readLen = 64 << 10

// flushing flushes the outputs before each read, which may block for a long time.
type flushing struct {
	r io.Reader
	t *tracing
}

func (f *flushing) Read(b []byte) (int, error) {
	if err := f.t.Flush(); err != nil {
		return 0, err
	}
	f.t.memory.adjust()
	return f.r.Read(b[:min(len(b), readLen)])
}

// interruptGrace is the time for which a pipe is read after an interrupt: the program that writes
// to the pipe is usually interrupted too, and still has to write its last frames.
const interruptGrace = time.Second

// untilSilent calls read, which reads the pipe in to its end. After an interrupt it waits for
// interruptGrace at most. If the pipe supports no deadline, as is usual for standard input, a
// blocked read is left behind; the outputs have what arrived before.
func untilSilent(ctx context.Context, in io.Reader, read func(context.Context) error) error {
	done := make(chan error, 1)
	go func() { done <- read(context.WithoutCancel(ctx)) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case <-done:
	case <-time.After(interruptGrace):
		if f, ok := in.(*os.File); ok && f.SetReadDeadline(time.Now()) == nil {
			<-done
		}
	}
	return ctx.Err()
}
