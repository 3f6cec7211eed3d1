package tracecmd

import (
	"fmt"
	"math"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/columns"
	"github.com/gorxe/gorxe/trace/text"
)

// shownFlags are flags that tshark has too: how many packets are shown, with which times and with
// which fields.
type shownFlags struct {
	set     func(flag string) bool // reports whether a flag was given
	count   int                    // 0 without -c
	time    string                 // name of a time format; "" without -t
	format  string                 // "", formatText or formatFields
	fields  []string
	options []string
}

// Values of -T.
const (
	formatText   = "text"
	formatFields = "fields"
)

func (f *shownFlags) add(fs *pflag.FlagSet) {
	f.set = fs.Changed
	fs.IntVarP(&f.count, "count", "c", 0, "stop after a `number` of packets that the filter matches")
	fs.StringVarP(&f.time, "time", "t", "",
		"`format` of times, as in tshark: r (since the first frame, the default), a (local time), ad (with date), "+
			"u (UTC), ud (with date), d (since the packet on the line before), e (since 1970)")
	fs.StringVarP(&f.format, "type", "T", "", "`format` of the lines: text (the default), or fields, selected with -e")
	fs.StringArrayVarP(&f.fields, "field", "e", nil,
		"with -T fields: write the values of a `field`, with tabs between fields (repeat -e for each field)")
	fs.StringArrayVarP(&f.options, "field-option", "E", nil,
		"with -T fields: an `option` of tshark: header=y, separator=C, aggregator=C, occurrence=f|l|a, quote=d|s|n")
}

// columnHelp returns help on the fields that -e has and filters do not have.
func columnHelp() string {
	var b strings.Builder
	b.WriteString("\nThe fields of -e are those of filters and:\n")
	for _, f := range columns.FrameFields() {
		fmt.Fprintf(&b, "  %-27s %s\n", f.Name, f.What)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// check rejects invalid values and flags that have no effect on the requested output.
func (f *shownFlags) check(p *params) error {
	if f.set("count") {
		if err := app.CheckRanges(app.InRange("-c", f.count, 1, math.MaxInt32)); err != nil {
			return err
		}
	}
	if f.time != "" {
		if _, err := text.ParseTimes(f.time); err != nil {
			return app.Usagef("-t: %w", err)
		}
	}
	switch f.format {
	case "", formatText:
		if len(f.fields)+len(f.options) > 0 {
			return app.Usagef("-e and -E are for -T fields")
		}
	case formatFields:
		if len(f.fields) == 0 {
			return app.Usagef("-T fields: select fields with -e, such as -e frame.number -e infiniband.bth.psn")
		}
		if _, err := f.columnOptions(); err != nil {
			return err
		}
		if err := columns.Check(f.fields); err != nil {
			return app.Usagef("-e: %w", err)
		}
	default:
		return app.Usagef("-T %q: choose text or fields; --json writes JSON", f.format)
	}
	return f.conflicts(p)
}

// conflicts rejects flags that contradict -T fields or -t.
func (f *shownFlags) conflicts(p *params) error {
	type flag struct {
		set  bool
		name string
	}
	others := []flag{{p.json, "--json"}, {p.messages, "--messages"}, {p.flows, "--flows"}} // replace the lines
	details := []flag{{p.verbose, "-v"}, {p.hex, "--hex"}, {p.payload, "--payload"},
		{p.explain && p.html == "", "--explain"}, {f.time != "", "-t"}}
	for _, o := range others {
		switch {
		case o.set && f.format == formatFields:
			return app.Usagef("-T fields and %s replace the lines of packets: omit one of them", o.name)
		case o.set && f.time != "":
			return app.Usagef("-t is for the lines of packets, which %s replaces: omit one of them", o.name)
		}
	}
	for _, o := range details {
		if o.set && f.format == formatFields {
			return app.Usagef("%s is for the lines of packets, which -T fields replaces: omit one of them", o.name)
		}
	}
	return nil
}

// times returns the format of times.
func (f *shownFlags) times() text.Times {
	t, _ := text.ParseTimes(f.time) // check has rejected invalid names; "" is Relative
	return t
}

// columnOptions returns the options of -T fields.
func (f *shownFlags) columnOptions() (columns.Options, error) {
	o := columns.DefaultOptions()
	for _, text := range f.options {
		if err := o.Set(text); err != nil {
			return o, app.Usagef("-E %w", err)
		}
	}
	return o, nil
}

// openColumns opens an output with a line of fields for each packet.
func openColumns(a *app.App, p *params, _ *files) ([]trace.Output, finish, error) {
	o, err := p.shown.columnOptions()
	if err != nil {
		return nil, nil, err
	}
	w, err := columns.New(a.Stdout, p.shown.fields, o)
	if err != nil {
		return nil, nil, err
	}
	return []trace.Output{w}, nil, nil
}
