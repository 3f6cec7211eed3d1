package json_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/json"
)

func TestCapturesObeyTheSchema(t *testing.T) {
	files, err := filepath.Glob("../testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatalf("no captures in testdata: %v", err)
	}
	upper, err := filepath.Glob("../testdata/ulp/*.pcap")
	if err != nil || len(upper) == 0 {
		t.Fatalf("no captures in testdata/ulp: %v", err)
	}
	files = append(files, upper...)
	s := schema(t)
	for _, path := range append(files, rxetraffic.Unpack(t)...) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, err := os.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			types := map[any]int{}
			for _, o := range validate(t, s, describe(t, file)) {
				types[o["type"]]++
			}
			if types["packet"] == 0 || types["message"] == 0 || types["flow"] == 0 {
				t.Errorf("objects by type: %v", types)
			}
		})
	}
}

// describe returns a capture as JSON.
func describe(t *testing.T, in io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := json.NewWriter(&b)
	w.Payload = true
	a := trace.NewAnalyzer(trace.Options{
		Message: func(m *trace.Message) {
			if err := w.Message(m); err != nil {
				t.Error(err)
			}
		},
		Flow: func(f *trace.Flow) {
			if err := w.Flow(f); err != nil {
				t.Error(err)
			}
		},
	})
	r, err := capture.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	var d trace.Decoder
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(p *trace.Packet) {
			a.Add(p)
			if err := w.Packet(p); err != nil {
				t.Error(err)
			}
		})
	}
	a.Finish()
	return b.Bytes()
}
