package report

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/conformance"
)

// Baseline holds the expected verdicts of a device. A case that it does not name is expected to
// pass or to be observed.
//
// Its text has a line for each case: the ID, the verdict, and after # the reason. Commas separate
// verdicts that are all expected.
//
//	psn/3      fail                   # sends one NAK only
//	rnr/4      pass, inconclusive     # the device is too slow for it now and then
type Baseline struct {
	lines []expected
}

// expected is a line of a baseline.
type expected struct {
	id       string
	verdicts []conformance.Verdict
	reason   string
}

// maxLine limits a line of a baseline in bytes.
const maxLine = 64 << 10

// ReadBaseline reads a baseline. known reports whether a case exists.
func ReadBaseline(src io.Reader, known func(id string) bool) (*Baseline, error) {
	b := &Baseline{}
	s := bufio.NewScanner(src)
	s.Buffer(nil, maxLine)
	for n := 1; s.Scan(); n++ {
		text, reason, _ := strings.Cut(s.Text(), "#")
		id, verdicts, _ := strings.Cut(strings.TrimSpace(strings.ReplaceAll(text, "\t", " ")), " ")
		if id == "" {
			continue
		}
		e := expected{id: id, reason: clean(reason, maxDetail)}
		switch {
		case !known(id):
			return nil, fmt.Errorf("line %d: there is no case %q", n, id)
		case b.find(id) != nil:
			return nil, fmt.Errorf("line %d: %s stands in an earlier line, too", n, id)
		}
		for name := range strings.SplitSeq(verdicts, ",") {
			var v conformance.Verdict
			if err := v.UnmarshalText([]byte(strings.TrimSpace(name))); err != nil {
				return nil, fmt.Errorf("line %d: %w: write for example '%s fail  # reason'", n, err, id)
			}
			e.verdicts = append(e.verdicts, v)
		}
		b.lines = append(b.lines, e)
	}
	if err := s.Err(); err != nil {
		if errors.Is(err, bufio.ErrTooLong) {
			return nil, errors.New("a line is too long for a baseline")
		}
		return nil, err
	}
	return b, nil
}

func (b *Baseline) find(id string) *expected {
	if b == nil {
		return nil
	}
	i := slices.IndexFunc(b.lines, func(e expected) bool { return e.id == id })
	if i < 0 {
		return nil
	}
	return &b.lines[i]
}

// Expects reports whether the verdict of c is expected, and the reason.
func (b *Baseline) Expects(c *Case) (reason string, ok bool) {
	e := b.find(c.ID)
	if e == nil {
		return "", c.Verdict == conformance.Pass || c.Verdict == conformance.Measured
	}
	return e.reason, slices.Contains(e.verdicts, c.Verdict)
}

// Differences returns a line for each case of r whose verdict is not expected.
func (b *Baseline) Differences(r *Report) []string {
	var lines []string
	for i := range r.Cases {
		c := &r.Cases[i]
		reason, ok := b.Expects(c)
		if ok {
			continue
		}
		want := "pass"
		if e := b.find(c.ID); e != nil {
			want = names(e.verdicts)
		}
		line := fmt.Sprintf("%s: %v, expected %s", c.ID, c.Verdict, want)
		if reason != "" {
			line += " (" + reason + ")"
		}
		if c.Detail != "" {
			line += ": " + c.Detail
		}
		lines = append(lines, line)
	}
	return lines
}

// WriteBaseline writes the baseline that r equals. It keeps the reasons and lines of old, which may
// be nil, for cases that are not in r or whose verdict old expects.
func WriteBaseline(w io.Writer, r *Report, old *Baseline) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "# Expected verdicts of gorxe conform for %s.\n# Cases that are not named pass or are observed.\n",
		r.Device)
	seen := map[string]bool{}
	for i := range r.Cases {
		c := &r.Cases[i]
		seen[c.ID] = true
		if e := old.find(c.ID); e != nil && slices.Contains(e.verdicts, c.Verdict) {
			e.write(b)
		} else if _, ok := (*Baseline)(nil).Expects(c); !ok {
			reason := strings.ReplaceAll(c.Detail, "#", "no. ")
			(&expected{id: c.ID, verdicts: []conformance.Verdict{c.Verdict}, reason: clean(reason, maxReason)}).write(b)
		}
	}
	if old != nil {
		for i := range old.lines {
			if e := &old.lines[i]; !seen[e.id] {
				e.write(b)
			}
		}
	}
	return b.Flush()
}

// maxReason limits the details in a written baseline in bytes.
const maxReason = 200

func (e *expected) write(w io.Writer) {
	line := fmt.Sprintf("%-14s%-14s", e.id, names(e.verdicts))
	if e.reason != "" {
		line += "  # " + e.reason
	}
	fmt.Fprintln(w, strings.TrimRight(line, " "))
}

func names(verdicts []conformance.Verdict) string {
	var all []string
	for _, v := range verdicts {
		all = append(all, v.String())
	}
	return strings.Join(all, ", ")
}
