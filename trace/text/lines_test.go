package text_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/text"
)

// lines returns the lines for the messages and flows of a capture.
func lines(t *testing.T, name string, color bool) string {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var b, flows bytes.Buffer
	m, f := text.NewMessages(&b, color), text.NewFlows(&flows, color)
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	p := trace.Pipeline{Outputs: []trace.Output{m, f}, Options: trace.Options{NoMeaning: true}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b.String() + "\n" + flows.String()
}

func TestMessagesAndFlowsAreALineEach(t *testing.T) {
	for _, name := range []string{"rcops", "loss_write"} {
		t.Run(name, func(t *testing.T) {
			got := lines(t, filepath.Join("..", "testdata", name+".pcap.gz"), false)
			golden.Check(t, name+"_lines.txt", got)
			if plain := strip(lines(t, filepath.Join("..", "testdata", name+".pcap.gz"), true)); plain != got {
				t.Errorf("without its colours it is another text:\n%s", cmp.Diff(got, plain))
			}
		})
	}
}

// strip removes colours from s.
func strip(s string) string {
	for _, code := range []string{"\x1b[31m", "\x1b[33m", "\x1b[0m"} {
		s = strings.ReplaceAll(s, code, "")
	}
	return s
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no room") }

func TestAnErrorOfTheWriterIsTold(t *testing.T) {
	m, f := text.NewMessages(full{}, false), text.NewFlows(full{}, false)
	flow := &trace.Flow{}
	if errors.Join(m.Message(&trace.Message{Flow: flow}), f.Flow(flow)) != nil {
		t.Error("it is told before anything was written")
	}
	if m.Flush() == nil || f.Flush() == nil {
		t.Error("it is lost")
	}
}
