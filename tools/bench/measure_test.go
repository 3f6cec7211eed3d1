package bench

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// scripted is a ground with prepared results.
type scripted struct {
	t     *testing.T
	calls []string // calls, with the contender's name
	out   map[string]string
}

func (g *scripted) Describe(m *Machine) { m.MTU = 4711 }

func (g *scripted) Prepare(_ context.Context, j *Job) error {
	g.calls = append(g.calls, "prepare "+j.Who.Name)
	if g.out[j.Who.Name] == "" {
		return errors.New("it is not to be had")
	}
	j.Ends[Server].Address = "198.18.0.1"
	return nil
}

func (g *scripted) Play(_ context.Context, j *Job) (Played, error) {
	if argv := j.Argv(Client); argv[len(argv)-1] != "198.18.0.1" {
		g.t.Errorf("%s is played without its ends: %q", j.Who.Name, argv)
	}
	g.calls = append(g.calls, "play "+j.Who.Name)
	out, err := os.ReadFile(filepath.Join("testdata", g.out[j.Who.Name]))
	return Played{Out: out}, err
}

// The ground is prepared for every measurement; a contender for which that fails is tried twice
// and left out.
func TestAGroundIsPreparedForEachMeasurement(t *testing.T) {
	g := &scripted{t: t, out: map[string]string{"a": "perf_write_bw.json", "b": "blast.json"}}
	contest := Contest{Name: "x", Metric: Bandwidth, Contenders: []Contender{
		{Name: "a", Tool: "perf", Args: []string{"write_bw"}}, {Name: "b", Tool: "blast"}, {Name: "c", Tool: "blast"}}}
	words := &GroundText{Title: "Elsewhere"}
	r, err := Measure(t.Context(), Options{Contests: []Contest{contest}, Rounds: 2, Seconds: 1, Words: words}, g)
	if err != nil {
		t.Fatal(err)
	}
	want := "prepare a, play a, prepare b, play b, prepare c, prepare c, prepare b, play b, prepare a, play a"
	if d := cmp.Diff(want, strings.Join(g.calls, ", ")); d != "" {
		t.Error(d)
	}
	var got []string
	for _, s := range r.Samples {
		got = append(got, s.Contender+s.Err)
	}
	if d := cmp.Diff([]string{"a", "b", "b", "a"}, got); d != "" {
		t.Error(d)
	}
	if len(r.Left) != 1 || r.Left[0].Contender != "c" || !strings.Contains(r.Left[0].Why, "not to be had") {
		t.Errorf("left out: %+v", r.Left)
	}
	if r.Machine.MTU != 4711 || r.Words != words {
		t.Errorf("MTU %d, words %+v", r.Machine.MTU, r.Words)
	}
}

func TestNothingIsMeasuredOfWhatMakesNoSense(t *testing.T) {
	for _, o := range []Options{
		{Rounds: 0, Seconds: 1}, {Rounds: 1, Seconds: 0},
		{Rounds: 1, Seconds: 1, Contests: []Contest{{Contenders: []Contender{{Name: "a", Tool: "none"}}}}},
	} {
		g := &scripted{t: t}
		if _, err := Measure(t.Context(), o, g); err == nil || len(g.calls) > 0 {
			t.Errorf("%+v: %v, %q", o, err, g.calls)
		}
	}
}

func TestFilesOfAReport(t *testing.T) {
	dir := t.TempDir()
	json, doc := filepath.Join(dir, "r.json"), filepath.Join(dir, "r.md")
	if err := sampleReport().WriteFiles(json, doc); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"r.json": `"contests"`, "r.md": "(r.svg)", "r.svg": "<svg"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s lacks %s: %v", name, want, err)
		}
	}
	if err := sampleReport().WriteFiles("", filepath.Join(dir, "none", "r.md")); err == nil {
		t.Error("a report is written into a directory that is not there")
	}
	if n := sampleReport().DisturbedSamples(); n != 1 {
		t.Errorf("%d samples are disturbed", n)
	}
}
