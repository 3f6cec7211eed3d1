package csv_test

import (
	"bytes"
	stdcsv "encoding/csv"
	stdjson "encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/congestion"
	"github.com/gorxe/gorxe/trace/csv"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/latency"
	"github.com/gorxe/gorxe/trace/series"
)

// run passes a capture to an output and returns what it writes to b.
func run(t *testing.T, name string, b *bytes.Buffer, o trace.Output) string {
	t.Helper()
	file, err := os.Open(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	p := trace.Pipeline{Outputs: []trace.Output{o}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestFlowsAndMessagesHaveARowEach(t *testing.T) {
	var b bytes.Buffer
	golden.Check(t, "flows.csv", strings.ReplaceAll(run(t, "rcops.pcap.gz", &b, csv.NewFlows(&b)), "\r\n", "\n"))
	b.Reset()
	golden.Check(t, "messages.csv", strings.ReplaceAll(run(t, "rcops.pcap.gz", &b, csv.NewMessages(&b)), "\r\n", "\n"))
}

// Each cell has the value of the JSON member whose path is the column name.
func TestCellsAreTheMembersOfTheJSONObjects(t *testing.T) {
	ends := [2]trace.End{{Addr: netip.MustParseAddr("10.0.0.1"), QPN: 1}, {Addr: netip.MustParseAddr("10.0.0.2")}}
	flow := &trace.Flow{Number: 3, Ends: ends, Begin: time.Unix(1, 5), RTT: trace.RTT{Count: 1, Sum: 2},
		CM: &trace.Managed{ServiceID: 1 << 63, Rejected: `a "quoted", text`}}
	done := &trace.Message{Number: 1, Flow: flow, Done: true, Begin: time.Unix(1, 0), End: time.Unix(1, 7),
		Frames: [2]int{4, 9}}
	s := &series.Series{Kind: series.OneFlow, Flow: flow}
	for _, tt := range []struct {
		name string
		row  any
	}{
		{"flow", json.Flow(flow)}, {"empty flow", json.Flow(&trace.Flow{})}, {"message", json.Message(done)},
		{"open message", json.Message(&trace.Message{})},
		{"series", json.SeriesRow(s, &series.Row{Packets: 3, RTT: trace.RTT{Count: 1}}, time.Second, time.Unix(5, 0))},
		{"latency", json.Latency(latency.New(), latency.Row{Verb: "SEND", P999: 5})},
		{"congestion", json.Congestion(congestion.Row{Flow: flow, Packets: 3, CE: 1})},
		{"congestion of a DSCP", json.Congestion(congestion.Row{})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bytes.Buffer
			w := csv.NewWriter(&b)
			if err := errors.Join(w.Write(tt.row), w.Write(tt.row), w.Flush()); err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(b.String(), "\r\n") {
				t.Error("the lines do not end with CRLF")
			}
			rows, err := stdcsv.NewReader(&b).ReadAll()
			if err != nil || len(rows) != 3 || !cmp.Equal(rows[1], rows[2]) {
				t.Fatalf("%v, %v", rows, err)
			}
			want := map[string]string{}
			text, err := stdjson.Marshal(tt.row)
			if err != nil {
				t.Fatal(err)
			}
			d := stdjson.NewDecoder(bytes.NewReader(text))
			d.UseNumber()
			var o map[string]any
			if err := d.Decode(&o); err != nil {
				t.Fatal(err)
			}
			flatten(want, "", o)
			got := map[string]string{}
			for i, name := range rows[0] {
				if _, twice := got[name]; twice {
					t.Errorf("column %s occurs twice", name)
				}
				if got[name] = rows[1][i]; got[name] == "" {
					delete(got, name)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(rows[0], csv.Columns(tt.row)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// flatten adds the members of v to m.
func flatten(m map[string]string, name string, v any) {
	join := func(s string) string {
		if name == "" {
			return s
		}
		return name + "_" + s
	}
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			flatten(m, join(k), x)
		}
	case []any:
		for i, x := range v {
			flatten(m, join(strconv.Itoa(i)), x)
		}
	case bool:
		m[name] = strconv.FormatBool(v)
	case stdjson.Number:
		m[name] = v.String()
	case string:
		if v != "" {
			m[name] = v
		}
	}
}

func TestTextIsPlain(t *testing.T) {
	var b bytes.Buffer
	w := csv.NewMessages(&b)
	m := &trace.Message{Flow: &trace.Flow{}, WR: "\x1b[2J \u202e, \"x\"\r\ny", Failed: "\x00"}
	if err := errors.Join(w.Message(m), w.Flush()); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.ReplaceAll(b.String(), "\r\n", "") {
		if r < ' ' || r == 0x7f || r == 0x202e {
			t.Errorf("%q has the character %U", b.String(), r)
		}
	}
}

// Spreadsheets evaluate cells that begin with one of these characters; numbers are not text.
func TestTextIsNoFormula(t *testing.T) {
	type row struct {
		Text   string `json:"text"`
		Number int    `json:"number"`
	}
	for _, tt := range []struct{ text, want string }{
		{"=1+1", "'=1+1"}, {"+1", "'+1"}, {"-1", "'-1"}, {"@A1", "'@A1"}, {"A1=1", "A1=1"}, {"", ""},
	} {
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		if err := errors.Join(w.Write(row{tt.text, -1}), w.Flush()); err != nil {
			t.Fatal(err)
		}
		if got, want := b.String(), "text,number\r\n"+tt.want+",-1\r\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRowsOfAnotherTypeAreRefused(t *testing.T) {
	w := csv.NewWriter(&bytes.Buffer{})
	if w.Write(json.Flow(&trace.Flow{})) != nil {
		t.Error("a flow is refused")
	}
	for _, v := range []any{json.Message(&trace.Message{}), 3, nil, (*trace.Flow)(nil)} {
		if w.Write(v) == nil {
			t.Errorf("%T is accepted", v)
		}
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestAnErrorOfTheWriterIsReported(t *testing.T) {
	w := csv.NewFlows(full{})
	if err := w.Flow(&trace.Flow{}); err != nil {
		t.Errorf("before anything was written: %v", err)
	}
	if w.Flush() == nil {
		t.Error("the error is lost")
	}
}
