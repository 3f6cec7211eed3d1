package tracecmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
)

func TestTraceWritesNoFileThatItUsesForSomethingElse(t *testing.T) {
	const old = "what was there before"
	for _, tt := range []struct{ name, line, want string }{
		{"the capture in standard input", "trace - --pcapng IN", "that is the capture itself"},
		{"by a link", "trace --html LINK", "that is the capture itself"},
		{"the capture by another name", "trace LINK --pcapng IN", "that is the capture itself"},
		{"two outputs", "trace --html OUT --pcapng OUT", "that is what --pcapng writes"},
		{"two outputs in a file that is not there yet", "trace --html NEW --pcapng NEW",
			"that is what --pcapng writes"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := func(name string) string { return filepath.Join(dir, name) }
			capture := aConversation(t)
			for name, text := range map[string][]byte{"in": capture, "out": []byte(old)} {
				if err := os.WriteFile(path(name), text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Link(path("in"), path("link")); err != nil {
				t.Fatal(err)
			}
			in, err := os.Open(path("in"))
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			w := newWorld()
			w.Stdin = in
			line := strings.NewReplacer("IN", path("in"), "LINK", path("link"), "OUT", path("out"), "NEW",
				path("new")).Replace(tt.line)
			r := w.Run(t.Context(), line)
			if r.Code == 0 || !strings.Contains(r.Stderr.String(), tt.want) {
				t.Errorf("code %d, error %q, want %q", r.Code, &r.Stderr, tt.want)
			}
			for name, want := range map[string][]byte{"in": capture, "out": []byte(old)} {
				if got, err := os.ReadFile(path(name)); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s is not what it was: %d bytes, %v", name, len(got), err)
				}
			}
		})
	}
}

func TestTraceReplacesWhatWasInItsOutputs(t *testing.T) {
	dir := t.TempDir()
	page, copied := filepath.Join(dir, "page.html"), filepath.Join(dir, "copy.pcapng")
	long := bytes.Repeat([]byte("old"), 1<<20)
	for _, name := range []string{page, copied} {
		if err := os.WriteFile(name, long, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld()
	w.Stdin = bytes.NewReader(aConversation(t))
	line := "trace --html " + page + " --pcapng " + copied
	clitest.MustSucceed(t, line, w.Run(t.Context(), line))
	for _, name := range []string{page, copied} {
		if got, err := os.ReadFile(name); err != nil || bytes.Contains(got, []byte("oldold")) {
			t.Errorf("%s has %d bytes of which some are old, %v", name, len(got), err)
		}
	}
	clitest.MustSucceed(t, "trace",
		newWorld().Run(t.Context(), "trace --html "+os.DevNull+" --pcapng "+os.DevNull+" "+copied))
}
