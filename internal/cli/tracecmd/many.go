package tracecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace/join"
	"github.com/gorxe/gorxe/trace/text"
)

// manyFlags select how several captures are read.
type manyFlags struct {
	join, concatenate bool
}

func (f *manyFlags) add(fs *pflag.FlagSet) {
	fs.BoolVar(&f.join, "join", false,
		"captures have the same traffic at several points, in the order of the path, such as host,\n"+
			"switch, other host: where each loss happened, one-way delays (default: if they have the\n"+
			"same packets)")
	fs.BoolVar(&f.concatenate, "concatenate", false,
		"several captures are one, in order of time (default: if they have different packets)")
}

// joinMemory keeps the garbage collector from doubling the memory of a join.
const joinMemory = 200 << 20

// checkMany checks the flags for the captures in p.sources.
func (p *params) checkMany() error {
	m, n := &p.many, len(p.sources)
	switch {
	case m.join && m.concatenate:
		return app.Usagef("give --join or --concatenate, not both")
	case n > 1 && p.live.Interface != "":
		return app.Usagef("-i %s captures: leave the file %q out", p.live.Interface, p.sources[0])
	case m.join && n < 2:
		return app.Usagef("--join takes several captures, not %d", n)
	case m.join && n > join.MaxPoints:
		return app.Usagef("--join takes up to %d captures, not %d", join.MaxPoints, n)
	case m.concatenate && n < 2:
		return app.Usagef("--concatenate takes several captures, not %d", n)
	}
	if n > 1 {
		for _, s := range p.sources {
			if s == "-" {
				return app.Usagef("standard input cannot be one of several captures: they are read more than once")
			}
		}
	}
	if m.join {
		return p.checkJoin("--join")
	}
	return nil
}

// checkJoin rejects flags that have no effect on the report of a join. why is the reason for the
// join.
func (p *params) checkJoin(why string) error {
	for _, f := range []struct {
		set  bool
		name string
	}{
		{p.filter != "", "--filter"}, {p.explain, "--explain"}, {p.verbose, "-v"}, {p.hex, "--hex"},
		{p.payload, "--payload"}, {p.messages, "--messages"}, {p.flows, "--flows"}, {p.html != "", "--html"},
		{p.pcapng != "", "--pcapng"}, {p.why != "", "--why"}, {p.stats.kind() != "", p.stats.kind()},
		{p.stats.csv, "--csv"},
		{p.shown.format == formatFields, "-T fields"}, {p.shown.count > 0, "-c"},
	} {
		if f.set {
			return app.Usagef("%s is for one capture: omit it, or read the captures as one with --concatenate (%s)",
				f.name, why)
		}
	}
	return nil
}

// runMany reads several captures as one, or joins them.
func runMany(ctx context.Context, a *app.App, p *params, t *tracing) error {
	in, err := inputs(p.sources, &t.files)
	if err != nil {
		return err
	}
	joined, relations := p.many.join, []join.Relation(nil)
	if !p.many.concatenate {
		if joined, relations, err = relate(ctx, a, in, joined); err != nil {
			return err
		}
	}
	if joined {
		if err := p.checkJoin("they have the same packets"); err != nil {
			return err
		}
		return runJoin(ctx, a, p, in, relations)
	}
	return runFiles(ctx, a, p, t, in)
}

// inputs returns the captures, which must be regular files.
func inputs(names []string, used *files) ([]join.Input, error) {
	var in []join.Input
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		info, err := f.Stat()
		used.input(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() {
			return nil, app.Usagef("%s is not a regular file: several captures are read more than once", name)
		}
		in = append(in, join.Input{Name: name, Open: func() (io.ReadCloser, error) { return os.Open(name) }})
	}
	return in, nil
}

// relate decides whether the captures are joined, and prints why. forced reports whether --join was
// given. relations are those of each capture and the next one.
func relate(ctx context.Context, a *app.App, in []join.Input, forced bool) (joined bool, relations []join.Relation,
	err error) {
	same := 0
	for i := range len(in) - 1 {
		r, err := join.Detect(ctx, in[i], in[i+1])
		if err != nil {
			return false, nil, err
		}
		relations = append(relations, r)
		if r.Same {
			same++
		}
	}
	if forced {
		return true, relations, nil
	}
	if same > 0 && same < len(relations) {
		for i, r := range relations {
			if r.Same {
				return false, nil, fmt.Errorf("%s and %s have the same packets (%d in samples of %d), but others "+
					"of the captures do not. Join those of the same traffic alone, in the order of the path (gorxe "+
					"trace --join HOST SWITCH OTHER_HOST), or read all as one with --concatenate", in[i].Name,
					in[i+1].Name, r.Shared, r.Sample)
			}
		}
	}
	if same > 0 && len(in) > join.MaxPoints {
		return false, nil, fmt.Errorf("the %d captures have the same packets: up to %d can be joined; --concatenate "+
			"reads them as one", len(in), join.MaxPoints)
	}
	for i, r := range relations {
		switch {
		case r.Same:
			fmt.Fprintf(a.Stderr, "%s and %s have the same packets (%d in samples of %d): they are joined\n",
				text.Plain(in[i].Name), text.Plain(in[i+1].Name), r.Shared, r.Sample)
		case r.Overlap:
			fmt.Fprintf(a.Stderr, "%s and %s overlap in time, but not in packets (%d in samples of %d): they are "+
				"read as one\n", text.Plain(in[i].Name), text.Plain(in[i+1].Name), r.Shared, r.Sample)
		}
	}
	return same > 0, relations, nil
}

// runJoin writes the report of captures of the same traffic.
func runJoin(ctx context.Context, a *app.App, p *params, in []join.Input, relations []join.Relation) error {
	if _, chosen := os.LookupEnv("GOMEMLIMIT"); !chosen {
		defer debug.SetMemoryLimit(debug.SetMemoryLimit(joinMemory))
	}
	chain, err := join.JoinChain(ctx, in, relations, join.Options{Dedupe: p.dedupe})
	if chain == nil || len(chain.Segments) == 0 {
		return err
	}
	var report interface {
		WriteText(io.Writer) error
		WriteJSON(io.Writer) error
	} = chain
	if len(in) == 2 {
		report = chain.Segments[0]
	}
	write := report.WriteText
	if p.json {
		write = report.WriteJSON
	}
	if e := write(a.Stdout); e != nil {
		return fmt.Errorf("writing: %w", e)
	}
	return err
}

// maxListed is the maximum number of lines that list the captures of frames.
const maxListed = 20

// runFiles reads the captures as one.
func runFiles(ctx context.Context, a *app.App, p *params, t *tracing, in []join.Input) error {
	src, err := join.NewFiles(in)
	if err != nil {
		return err
	}
	if err := t.open(a, p); err != nil {
		return errors.Join(err, src.Close())
	}
	if _, chosen := os.LookupEnv("GOGC"); !chosen {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	if err := errors.Join(t.run(ctx, src), src.Close()); err != nil {
		return err
	}
	printSummary(a, fmt.Sprintf("%d captures", len(in)), t)
	ranges, all := src.Ranges()
	for i, r := range ranges {
		if i == maxListed {
			all = false
			break
		}
		own := ""
		if r.Own != r.First {
			own = fmt.Sprintf(", its frames %d to %d", r.Own, r.Own+r.Last-r.First)
		}
		fmt.Fprintf(a.Stderr, "frames %d to %d: %s%s\n", r.First, r.Last, text.Plain(r.Name), own)
	}
	if !all {
		fmt.Fprintln(a.Stderr, "further frames: not listed, the captures take turns often")
	}
	return nil
}
