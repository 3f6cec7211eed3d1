package json_test

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/json"
	"github.com/gorxe/gorxe/trace/why"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestTheAnswerToWhyObeysTheSchema(t *testing.T) {
	var b, some bytes.Buffer // some: those of one capture
	for _, line := range []string{
		"NET/IB : Got completion from peer 192.0.2.7<42321> with status=10 opcode=0 len=0 vendor err 136",
		"status 12", "RNR retry counter exceeded", "local QPN 0x99, remote QPN 0x98", "status 5 qp_num=17",
		"responder: local protection error\x1b[2J", "rkey 0x1234 remote_addr 0x7f00 status 10",
	} {
		c, err := why.Parse(line)
		if err != nil {
			t.Fatal(line, err)
		}
		for _, name := range []string{"rcops.pcap.gz", "loss_write.pcap.gz", "rping.pcap"} {
			out := io.Writer(&b)
			if name == "loss_write.pcap.gz" {
				out = io.MultiWriter(&b, &some)
			}
			a := answer(t, filepath.Join("..", "testdata", name), c)
			if err := json.NewWriter(out).Object(json.Why(a)); err != nil {
				t.Fatal(err)
			}
		}
	}
	explained, none := 0, 0
	for _, o := range validate(t, schema(t), b.Bytes()) {
		if len(o["matches"].([]any)) == 0 {
			none++
			if o["others"] == nil {
				t.Errorf("it names no flow: %v", o)
			}
		}
		for _, m := range o["matches"].([]any) {
			if m := m.(map[string]any); m["explained"] == true {
				explained++
				if len(m["frames"].([]any)) == 0 {
					t.Errorf("a cause without frames: %v", m)
				}
			}
		}
	}
	if explained == 0 || none == 0 {
		t.Errorf("%d matches are explained, %d lines have no match", explained, none)
	}
	golden := filepath.Join("testdata", "why.jsonl")
	if *update {
		if err := os.WriteFile(golden, some.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(some.Bytes(), want) {
		t.Errorf("the answers differ from %s:\n%s", golden, some.Bytes())
	}
}

// answer returns the answer to a complaint about a capture.
func answer(t *testing.T, path string, c why.Complaint) *why.Answer {
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
	w := why.NewCollector(c)
	p := trace.Pipeline{Outputs: []trace.Output{w}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return w.Answer()
}
