package tracecmd

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

func TestTraceAsJSONIsAnObjectALine(t *testing.T) {
	for _, tt := range []struct {
		line                     string
		packets, messages, flows int
		payload                  bool
	}{
		{"trace --json", 3, 1, 2, false},
		{"trace --json --payload", 3, 1, 2, true},
		{"trace --json --messages", 0, 1, 0, false},
		{"trace --json --flows --messages", 0, 1, 2, false},
		{"trace --json --filter nak", 1, 0, 1, false},
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(aConversation(t))
		r := w.Run(t.Context(), tt.line)
		clitest.MustSucceed(t, tt.line, r)
		types := map[any]int{}
		for line := range strings.Lines(r.Stdout.String()) {
			var o map[string]any
			if err := json.Unmarshal([]byte(line), &o); err != nil {
				t.Fatalf("%s: %q: %v", tt.line, line, err)
			}
			types[o["type"]]++
		}
		if types["packet"] != tt.packets || types["message"] != tt.messages || types["flow"] != tt.flows {
			t.Errorf("%s: %v\n%s", tt.line, types, &r.Stdout)
		}
		if has := strings.Contains(r.Stdout.String(), `"payload":"736563726574"`); has != tt.payload {
			t.Errorf("%s: payload shown: %v\n%s", tt.line, has, &r.Stdout)
		}
	}
}

func TestTraceWritesAPage(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.html")
	w := newWorld()
	w.Stdin = bytes.NewReader(aConversation(t))
	r := w.Run(t.Context(), "trace - --filter nak --html "+page)
	clitest.MustSucceed(t, "trace", r)
	if out := r.Stdout.String(); out != "" {
		t.Errorf("it also writes to standard output: %q", out)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if s := string(text); !strings.Contains(s, "NAK remote access error") || strings.Contains(s, "RC_SEND_ONLY") ||
		!strings.Contains(s, "<title>standard input") {
		t.Errorf("the page is not of what the filter chose: %s", s[max(0, len(s)-500):])
	}

	w = newWorld()
	w.Stdin = bytes.NewReader(aConversation(t))
	r = w.Run(t.Context(), "trace --json - --html "+page)
	clitest.MustSucceed(t, "trace", r)
	if n := strings.Count(r.Stdout.String(), `"type":"packet"`); n != 3 {
		t.Errorf("%d packets as JSON beside the page", n)
	}
}

func TestTraceSaysAtOnceThatAPageCannotBeWritten(t *testing.T) {
	w := newWorld()
	w.Stdin = bytes.NewReader(aConversation(t))
	missing := filepath.Join(t.TempDir(), "missing", "page.html")
	r := w.Run(t.Context(), "trace --html "+missing)
	if r.Code == 0 || !strings.Contains(r.Stderr.String(), missing) || r.Stdout.Len() > 0 {
		t.Errorf("code %d, error %q, output %q", r.Code, &r.Stderr, &r.Stdout)
	}
}

func TestThePageOfACaptureIsNotWrittenOverIt(t *testing.T) {
	captured := aConversation(t)
	path := filepath.Join(t.TempDir(), "a.pcap")
	if err := os.WriteFile(path, captured, 0o600); err != nil {
		t.Fatal(err)
	}
	r := newWorld().Run(t.Context(), "trace --html "+path+" "+path)
	if r.Code == 0 || !strings.Contains(r.Stderr.String(), "that is the capture itself") {
		t.Errorf("code %d, error %q", r.Code, &r.Stderr)
	}
	if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, captured) {
		t.Errorf("the capture is not what it was: %d bytes, %v", len(now), err)
	}
}

func TestTraceSaysWhatATraceHasNot(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	in, err := capture.Open(bytes.NewReader(aConversation(t)))
	if err != nil {
		t.Fatal(err)
	}
	w := pcapng.NewWriter(f, pcapng.Options{})
	var frame capture.Frame
	for _, comment := range []string{
		"7 packets before this one are missing: they came faster than the trace could be written",
		"something else", "7 packets",
	} {
		if err := in.Next(&frame); err != nil {
			t.Fatal(err)
		}
		if err := w.Frame(&frame, comment); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		t.Fatal(err)
	}
	r := newWorld().Run(t.Context(), "trace "+path)
	if want := path + ": 7 packets missing: they could not be written fast enough\n"; r.Code != 0 ||
		r.Stderr.String() != want {
		t.Error(r)
	}
}
