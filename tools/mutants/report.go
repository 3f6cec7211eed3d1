package main

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// report counts the results.
type report struct {
	equivalent map[key]string
	out        io.Writer

	files     []string // in the order in which they were tried
	scores    map[string]*score
	survivors []mutant
	same      []mutant // survivors that are listed as equivalent
}

// score holds the counts of one file.
type score struct {
	tried, caught, timedOut, byOthers, equivalent, survived int
}

func (s *score) add(o *score) {
	s.tried += o.tried
	s.caught += o.caught
	s.timedOut += o.timedOut
	s.byOthers += o.byOthers
	s.equivalent += o.equivalent
	s.survived += o.survived
}

// note counts a result and returns it as text. elsewhere means that the tests of another package
// caught the mutant.
func (r *report) note(m *mutant, res result, elsewhere bool) string {
	s := r.scores[m.file]
	if s == nil {
		s = &score{}
		r.scores[m.file] = s
		r.files = append(r.files, m.file)
	}
	s.tried++
	switch {
	case res != survived:
		s.caught++
		if elsewhere {
			s.byOthers++
		}
		if res == timedOut {
			s.timedOut++
			return "caught (timed out) by"
		}
		return "caught by"
	case r.equivalent[m.key()] != "":
		s.equivalent++
		r.same = append(r.same, *m)
		return "equivalent"
	}
	s.survived++
	r.survivors = append(r.survivors, *m)
	return "SURVIVED"
}

// print writes the table and returns the number of survivors that are not listed as equivalent.
func (r *report) print() (int, error) {
	t := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "tried\tcaught\tby time-out\tby others\tequivalent\tsurvived\t file")
	row := func(s *score, name string) {
		fmt.Fprintf(t, "%d\t%d\t%d\t%d\t%d\t%d\t %s\n", s.tried, s.caught, s.timedOut, s.byOthers, s.equivalent,
			s.survived, name)
	}
	var sum score
	for _, f := range r.files {
		row(r.scores[f], f)
		sum.add(r.scores[f])
	}
	row(&sum, "all")
	if err := t.Flush(); err != nil {
		return 0, err
	}
	for i := range r.same {
		fmt.Fprintf(r.out, "equivalent: %s\n\t%s\n", &r.same[i], r.equivalent[r.same[i].key()])
	}
	for i := range r.survivors {
		fmt.Fprintf(r.out, "survived: %s\n\t%s\n", &r.survivors[i], r.survivors[i].text)
	}
	return len(r.survivors), nil
}
