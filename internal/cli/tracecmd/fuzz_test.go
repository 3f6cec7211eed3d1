package tracecmd

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

// fuzzCapture is the longest capture that is traced, in bytes.
const fuzzCapture = 16 << 10

// Maximum length of an output in bytes: a constant, and a number for each byte of the capture.
const (
	outputBase = 1 << 20
	outputEach = 400
)

// views lists the outputs of 'gorxe trace' that go to standard output.
var views = []string{
	"trace", "trace -v --hex --payload --explain",
	"trace -t ad",
	"trace -T fields -E header=y -E quote=d -e frame -e frame.time_delta_displayed -e qp -e meaning -e finding",
	"trace --messages --flows", "trace --json --payload", "trace --pcapng -",
	"trace --filter psn>5||error", "trace --json --filter not(qp==0x11)&&(nak||warning||infiniband.bth.opcode==17)",
	"trace --summary", "trace --summary --json", "trace --series", "trace --csv --series=1us", "trace --latency --json",
	"trace --congestion", "trace --csv --congestion", "trace --csv --messages", "trace --csv --flows",
}

// FuzzTrace traces any capture with any of the outputs. For any content, the output is complete,
// contains no control sequences or markup from the capture, and has a bounded length. An error
// says that the capture cannot be read.
func FuzzTrace(f *testing.F) {
	for _, b := range fuzzCaptures(f) {
		for view := range len(views) + 1 {
			f.Add(uint8(view), b)
		}
	}
	f.Setenv("GOGC", "100") // so that a run does not choose its own
	page := filepath.Join(f.TempDir(), "page.html")
	scripts := -1
	f.Fuzz(func(t *testing.T, view uint8, b []byte) {
		if len(b) > fuzzCapture || bytes.HasPrefix(b, []byte{0x1f, 0x8b}) { // FuzzReader of package capture covers gzip
			return
		}
		frames, whole := framesOf(b)
		if n := int(view) % (len(views) + 1); n < len(views) {
			checkView(t, views[n], b, frames, whole)
			return
		}
		if scripts < 0 {
			traceOf(t, "trace --html "+page, pcapOf(f))
			scripts = elements(t, page)
		}
		if err := os.WriteFile(page, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if r := traceOf(t, "trace --html "+page, b); (r.Code == 0) != whole {
			t.Fatal(r)
		}
		if n := elements(t, page); n != scripts && n != 0 { // 0: the input is no capture
			t.Fatalf("the page has %d tags of scripts, that of another capture %d", n, scripts)
		}
	})
}

// checkView traces a capture with one of the outputs that go to standard output.
func checkView(t *testing.T, line string, b []byte, frames []capture.Frame, whole bool) {
	r := traceOf(t, line, b)
	if r.Code != 0 && r.Code != app.ExitFailure || (r.Code == 0) != whole {
		t.Fatalf("%s: %v", line, r)
	}
	if n := r.Stdout.Len(); n > outputBase+outputEach*len(b) {
		t.Fatalf("%s: %d bytes of a capture of %d", line, n, len(b))
	}
	checkPlain(t, line, r.Stderr.Bytes())
	switch {
	case strings.Contains(line, "--json"):
		checkJSON(t, line, r.Stdout.Bytes())
	case strings.Contains(line, "--pcapng"):
		checkPcapng(t, frames, r.Stdout.Bytes())
	case strings.Contains(line, "--csv"): // lines end with CRLF (RFC 4180)
		checkPlain(t, line, bytes.ReplaceAll(r.Stdout.Bytes(), []byte("\r\n"), []byte("\n")))
	default:
		checkPlain(t, line, r.Stdout.Bytes())
	}
}

// elements returns the number of script tags in a page.
func elements(t testing.TB, path string) int {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !utf8.Valid(b) {
		t.Fatal("the page is not UTF-8")
	}
	b = bytes.ToLower(b)
	return bytes.Count(b, []byte("<script")) + bytes.Count(b, []byte("</script"))
}

// traceOf runs a command line on a capture.
func traceOf(t testing.TB, line string, captured []byte) *clitest.Run {
	w := newWorld()
	w.Stdin = bytes.NewReader(captured)
	return w.Run(t.Context(), line)
}

// framesOf reads the readable frames of a capture.
func framesOf(b []byte) (all []capture.Frame, whole bool) {
	in, err := capture.Open(bytes.NewReader(b))
	if err != nil {
		return nil, false
	}
	for {
		var f capture.Frame
		switch err := in.Next(&f); {
		case errors.Is(err, io.EOF):
			return all, true
		case err != nil:
			return all, false
		}
		f.Data = bytes.Clone(f.Data)
		all = append(all, f)
	}
}

// checkPlain fails the test if text contains characters that affect a terminal.
func checkPlain(t *testing.T, line string, text []byte) {
	if !utf8.Valid(text) {
		t.Fatalf("%s: not UTF-8: %q", line, text)
	}
	for _, c := range string(text) {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			t.Fatalf("%s: a control character %q in %q", line, c, text)
		}
	}
}

func checkJSON(t *testing.T, line string, text []byte) {
	for object := range bytes.Lines(text) {
		if !json.Valid(object) {
			t.Fatalf("%s: %q", line, object)
		}
	}
}

// checkPcapng fails the test unless the written capture has the frames of the one that was read.
func checkPcapng(t *testing.T, want []capture.Frame, b []byte) {
	if len(want) == 0 && len(b) == 0 {
		return
	}
	got, whole := framesOf(b)
	if !whole || len(got) != len(want) {
		t.Fatalf("%d frames are written, %d are read, all %v", len(want), len(got), whole)
	}
	for i := range got {
		if !bytes.Equal(got[i].Data, want[i].Data) || got[i].Link != want[i].Link {
			t.Fatalf("frame %d: %+v, want %+v", i+1, got[i], want[i])
		}
	}
}

// fuzzCaptures returns the beginnings of recorded captures, and captures that gorxe writes of
// them.
func fuzzCaptures(t testing.TB) (all [][]byte) {
	files, err := filepath.Glob("../../../trace/testdata/*.pcap*")
	if err != nil || len(files) == 0 {
		t.Fatal("no captures: ", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			z, err := gzip.NewReader(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if b, err = io.ReadAll(z); err != nil {
				t.Fatal(err)
			}
		}
		b = b[:min(len(b), 6<<10)]
		all = append(all, b, traceOf(t, "trace --pcapng -", b).Stdout.Bytes())
	}
	return append(all, pcapOf(t))
}

// pcapOf returns a pcapng capture whose comments and names are hostile text.
func pcapOf(t testing.TB) []byte {
	const evil = "\x1b[2J</script><script>alert(1)</script>\u202e\r\n\x00\xff"
	in, err := os.ReadFile("../../../trace/testdata/rping.pcap")
	if err != nil {
		t.Fatal(err)
	}
	frames, _ := framesOf(in)
	var out bytes.Buffer
	w := pcapng.NewWriter(&out, pcapng.Options{Application: evil, Description: evil})
	for i := range frames {
		frames[i].Interface = evil
		if err := w.Frame(&frames[i], evil, "work request: "+evil); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
