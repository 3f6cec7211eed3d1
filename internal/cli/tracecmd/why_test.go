package tracecmd

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/trace/pcapng"
)

func TestTraceSaysWhyAWorkRequestFailed(t *testing.T) {
	send := bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x11, PSN: 5, AckReq: true, Payload: []byte("data")}
	ack := bth.Packet{Opcode: bth.RCAck, DestQP: 0x12, PSN: 5, AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: 1}}
	lost := send
	lost.PSN = 6
	var file bytes.Buffer
	w := pcapng.NewWriter(&file, pcapng.Options{})
	for _, f := range exchange(5*time.Millisecond, send, ack, lost, lost, lost, lost) {
		if err := w.Frame(&f); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.pcapng"), file.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name     string
		args     []string
		code     int
		out, err string
	}{
		{"the cause", []string{"--why", "Failed status 12: wr_id 0 syndrom 0x81"}, 0,
			"cause     198.18.0.2/0x000011 fell silent", ""},
		{"the frames", []string{"--why", "Got CQE with error (x, qp_num=18)"}, 0, "frames 4, 5, 6: PSN 6 " +
			"retransmitted 3 times", ""},
		{"no such queue pair", []string{"--why", "status 12 qp_num=99"}, 0, "looked for a flow with queue pair " +
			"0x000063 among 1", ""},
		{"a line without facts", []string{"--why", "hello"}, app.ExitUsage, "",
			"gorxe: --why: the line names neither a queue pair, an address nor a status of a work completion\n"},
		{"with a filter", []string{"--filter", "nak", "--why", "status 12"}, app.ExitUsage, "",
			"gorxe: --why answers from the whole capture: omit --filter\n"},
		{"with JSON", []string{"--json", "--why", "status 12"}, 0, `{"type":"why","line":{"format":"any program",` +
			`"status":12,"text":"status 12 IBV_WC_RETRY_EXC_ERR (transport retry counter exceeded)"`, ""},
		{"the frames with JSON", []string{"--json", "--why", "status 12"}, 0, `"frames":[3,4,5,6,`, ""},
		{"with JSON and CSV", []string{"--json", "--csv", "--why", "status 12"}, app.ExitUsage, "", ""},
		{"beside a page", []string{"--html", filepath.Join(dir, "page.html"), "--why", "status 12"}, 0, "fell " +
			"silent", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"trace", filepath.Join(dir, "a.pcapng")}, tt.args...)
			r := newWorld().StartWords(t.Context(), args)
			<-r.Done
			if r.Code != tt.code || !strings.Contains(r.Stdout.String(), tt.out) || tt.err != "" &&
				r.Stderr.String() != tt.err {
				t.Errorf("%v", r)
			}
		})
	}
}
