package pcapng_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/pcapng"
)

var frames = []capture.Frame{
	{Number: 1, Time: time.Unix(1700000000, 123456789).UTC(), Link: capture.LinkEthernet, Interface: "eth0",
		Length: 1500, Data: []byte("first")},
	{Number: 2, Time: time.Unix(1700000001, 0).UTC(), Link: capture.LinkEthernet, Interface: "eth0",
		Direction: capture.Inbound, Length: 4, Data: []byte("2222"),
		Comments: []string{"was there before"}},
	{Number: 3, Time: time.Unix(1700000002, 0).UTC(), Link: capture.LinkLinuxSLL2, Interface: "any",
		Direction: capture.Outbound, Data: []byte{}},
	{Number: 4, Time: time.Unix(0, 0).UTC(), Link: capture.LinkRaw, Length: 3, Data: []byte("raw")},
}

func read(t *testing.T, file []byte) (out []capture.Frame) {
	t.Helper()
	r, err := capture.Open(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		f.Data = bytes.Clone(f.Data)
		out = append(out, *f)
	}
	return out
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	var file bytes.Buffer
	w := pcapng.NewWriter(&file, pcapng.Options{Application: "gorxe 1", Description: "a test"})
	for i := range frames {
		if err := w.Frame(&frames[i], "one", "", "two \xff"); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	want := append([]capture.Frame(nil), frames...)
	for i, id := range []int{1, 1, 2, 3} {
		want[i].InterfaceID = id
		want[i].Comments = append(append([]string(nil), want[i].Comments...), "one", "two \ufffd")
	}
	if diff := cmp.Diff(want, read(t, file.Bytes())); diff != "" {
		t.Error(diff)
	}
}

func TestAnEmptyFileIsAFile(t *testing.T) {
	var file bytes.Buffer
	if err := pcapng.NewWriter(&file, pcapng.Options{}).Flush(); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file.Bytes()); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// The length of an option has 16 bits.
func TestALongCommentIsCut(t *testing.T) {
	var file bytes.Buffer
	w := pcapng.NewWriter(&file, pcapng.Options{})
	if err := errors.Join(w.Frame(&frames[0], "x"+strings.Repeat("é", 40000)), w.Flush()); err != nil {
		t.Fatal(err)
	}
	if got := read(t, file.Bytes())[0].Comments[0]; got != "x"+strings.Repeat("é", 32767) {
		t.Errorf("%d bytes", len(got))
	}
}

func annotated(t *testing.T, file io.Writer) {
	t.Helper()
	w := pcapng.NewPackets(file, pcapng.Options{Application: "gorxe 1", Description: "RoCEv2, with findings of gorxe"})
	p := func(f *capture.Frame, part, parts int, meaning string, findings ...trace.Finding) *trace.Packet {
		return &trace.Packet{Frame: f, Part: part, Parts: parts, Meaning: meaning, Findings: findings}
	}
	again := trace.Finding{Kind: trace.AfterTimeout, Level: trace.Warning, Text: "sent again after 3 ms"}
	seventh := frames[2]
	seventh.Number = 7
	broken := p(&seventh, 1, 1, "")
	broken.Err = errors.New("no such opcode")
	if err := errors.Join(
		w.Packet(p(&frames[0], 1, 2, "WRITE #1 begins")), w.Packet(p(&frames[0], 2, 2, "WRITE #1 ends", again)),
		w.Frame(&frames[1]), w.Packet(broken), w.Flush(),
	); err != nil {
		t.Fatal(err)
	}
}

// notes are the expected comments of each frame of annotated.
var notes = [][]string{
	{"packet 1 of 2: WRITE #1 begins", "packet 2 of 2: WRITE #1 ends", "packet 2 of 2: warning: sent again after 3 ms"},
	{"was there before"},
	{"no such opcode", "frame 7 of the capture that this was taken from"},
}

func TestMeaningAndFindingsAreComments(t *testing.T) {
	var file bytes.Buffer
	annotated(t, &file)
	var got [][]string
	for _, f := range read(t, file.Bytes()) {
		got = append(got, f.Comments)
	}
	if diff := cmp.Diff(notes, got); diff != "" {
		t.Error(diff)
	}
}

func TestTsharkShowsTheComments(t *testing.T) {
	shark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	path := filepath.Join(t.TempDir(), "a.pcapng")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	annotated(t, file)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(shark, "-r", path, "-T", "fields", "-E", "aggregator=|", "-e", "frame.comment",
		"-e", "frame.interface_name", "-e", "frame.interface_description", "-e", "frame.packet_flags_direction",
		"-e", "frame.time_epoch", "-e", "frame.len").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		strings.Join(notes[0], "|") + "\teth0\tRoCEv2, with findings of gorxe\t\t1700000000.123456789\t1500",
		strings.Join(notes[1], "|") + "\teth0\tRoCEv2, with findings of gorxe\t0x00000001\t1700000001.000000000\t4",
		strings.Join(notes[2], "|") + "\tany\tRoCEv2, with findings of gorxe\t0x00000002\t1700000002.000000000\t0",
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")); diff != "" {
		t.Error(diff)
	}
}

func TestWritingFramesAllocatesNothing(t *testing.T) {
	w := pcapng.NewWriter(io.Discard, pcapng.Options{})
	if n := testing.AllocsPerRun(1000, func() {
		if err := w.Frame(&frames[1], "a comment"); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestAnErrorOfTheFileIsKept(t *testing.T) {
	w := pcapng.NewWriter(full{}, pcapng.Options{})
	if err := w.Flush(); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
	if err := w.Frame(&frames[0]); !errors.Is(err, os.ErrClosed) {
		t.Error(err)
	}
}
