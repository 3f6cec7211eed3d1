package columns_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/columns"
	"github.com/gorxe/gorxe/trace/filter"
)

// sharkNames returns the names of the fields with values that tshark has, too.
func sharkNames() (names []string) {
	for _, f := range filter.Fields() {
		for _, n := range f.Names {
			if strings.Contains(n, ".") && f.Example != "" {
				names = append(names, n)
			}
		}
	}
	for _, f := range columns.FrameFields() {
		if f.Name != "meaning" && f.Name != "frame.interface_name" {
			names = append(names, f.Name)
		}
	}
	return names
}

// lines returns the lines of the RoCEv2 packets of a capture.
func lines(t *testing.T, path string, names []string, o columns.Options, expression string) []string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	f, err := filter.Parse(expression)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	w, err := columns.New(&out, names, o)
	if err != nil {
		t.Fatal(err)
	}
	p := trace.Pipeline{Filter: f, Outputs: []trace.Output{w}}
	if err := p.Run(context.Background(), r); err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

// sharkLines returns the lines of tshark for a capture.
func sharkLines(t *testing.T, path string, args ...string) []string {
	t.Helper()
	shark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	c := exec.Command(shark, append([]string{"-r", path, "-Y", "infiniband", "-T", "fields"}, args...)...)
	var stderr bytes.Buffer
	c.Stderr = &stderr
	out, err := c.Output()
	if err != nil {
		t.Fatalf("tshark: %v\n%s", err, stderr.Bytes())
	}
	return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
}

// Each field has the values and the format of tshark, in every packet of the captures of Linux rxe.
func TestFieldsAreFormattedLikeThoseOfTshark(t *testing.T) {
	names := sharkNames()
	if len(names) < 40 {
		t.Fatalf("%d fields", len(names))
	}
	var args []string
	for _, n := range names {
		args = append(args, "-e", n)
	}
	with := map[string]bool{} // fields with a value in some packet
	for _, path := range rxetraffic.Unpack(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want := sharkLines(t, path, args...)
			got := lines(t, path, names, columns.DefaultOptions(), "infiniband")
			if len(got) != len(want) {
				t.Fatalf("%d lines, tshark writes %d", len(got), len(want))
			}
			wrong := map[string]bool{}
			for i := range want {
				g, w := strings.Split(got[i], "\t"), strings.Split(want[i], "\t")
				for j, n := range names {
					with[n] = with[n] || w[j] != ""
					if g[j] != oldBooleans.Replace(w[j]) && !wrong[n] {
						wrong[n] = true
						t.Errorf("line %d: %s is %q, tshark writes %q", i+1, n, g[j], w[j])
					}
				}
			}
		})
	}
	for _, n := range names {
		if len(with) > 0 && !with[n] {
			t.Logf("%s has no value in any capture", n)
		}
	}
}

// oldBooleans replaces the booleans that tshark writes since version 4.2 with those of 4.0.
var oldBooleans = strings.NewReplacer("True", "1", "False", "0")

func TestOptionsHaveTheEffectTheyHaveInTshark(t *testing.T) {
	names := []string{"frame.number", "udp.port", "infiniband.bth.psn", "infiniband.aeth.msn"}
	path := rxetraffic.Unpack(t, "rcops")[0]
	for _, options := range [][]string{
		{"header=y"}, {"separator=,", "header=y"}, {"separator=/s"}, {"separator=/t"}, {"occurrence=f"},
		{"occurrence=l"}, {"occurrence=a", "aggregator=;"}, {"quote=d"}, {"quote=s", "separator=,", "aggregator=/s"},
		{"quote=n", "header=n"},
	} {
		o := columns.DefaultOptions()
		var args []string
		for _, n := range names {
			args = append(args, "-e", n)
		}
		for _, text := range options {
			if err := o.Set(text); err != nil {
				t.Fatal(err)
			}
			args = append(args, "-E", text)
		}
		want := strings.Join(sharkLines(t, path, args...), "\n")
		if got := strings.Join(lines(t, path, names, o, "infiniband"), "\n"); got != want {
			t.Errorf("%v: %.200q, tshark %.200q", options, got, want)
		}
	}
}
