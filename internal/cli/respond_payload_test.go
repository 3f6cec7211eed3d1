package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/serve/respond"
)

// payloadFile writes a payload file and returns its path.
func payloadFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "payload.txt")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

const (
	eightBytes = "0x01020304,0x05060708"
	aByteOff   = "0x01020304,0x05060709,0x01020304,0x05060708" // the fifth of sixteen
)

// wantsEight receives each SEND in its own buffer of 64 KiB, like the daemon by default.
var wantsEight = respond.Limits{Memory: 8 << 20, QPs: 8, Payload: []byte{4, 3, 2, 1, 8, 7, 6, 5}}

// All payload that clients write and send is checked.
func TestAResponderChecksWhatClientsWriteAndSend(t *testing.T) {
	right := payloadFile(t, eightBytes)
	for _, c := range []struct {
		line            string
		messages, bytes uint64
	}{
		{"perf send_bw -n 300", 300, 300 * 65536},
		{"perf send_bw -n 300 -s 3000 -q 4", 1200, 1200 * 3000},
		{"perf send_bw -n 300 -s 4", 300, 300 * 4},
		{"perf send_bw -n 100 -l 4 -s 2", 100, 100 * 2},
		{"perf send_lat -n 100", 100, 100 * 2},
		{"perf send_lat -n 50 -s 50000", 50, 50 * 50000},
		{"perf write_bw -n 100", 0, 65536},
		{"perf write_bw -n 100 -s 1000000 -q 3", 0, 1000000},
		{"perf write_bw -n 100 -s 2 -q 2", 0, 64 * 2},
		{"perf write_bw -n 100 -s 100 -l 4", 0, 32 * 100},
		{"perf write_bw -n 5 -a", 0, 8 << 20},
		{"perf read_bw -n 100", 0, 0},
		{"perf read_lat -n 100", 0, 0},
	} {
		line := c.line
		if !strings.Contains(line, "read") {
			line += " --payload_file_path " + right
		}
		counted, logged := responding(t, wantsEight, func(t *testing.T, w *clitest.World) {
			_, client := clitest.Ends(line)
			clitest.MustSucceed(t, line, w.Run(t.Context(), client))
		})
		if n := counted["respond_completed_perftest"]; n != 1 {
			t.Errorf("%s: %d sessions ended well,%s\n%s", c.line, n, nonzero(counted), logged)
		}
		if m, b := counted["respond_checked_messages"],
			counted["respond_checked_bytes"]; m != c.messages || b != c.bytes {
			t.Errorf("%s: %d messages and %d bytes are right, want %d and %d", c.line, m, b, c.messages, c.bytes)
		}
		if says := fmt.Sprintf(
			`msg="payload checked" peer=127.66.0.2 device=gorxe0 tool=perftest messages_checked=%d bytes_checked=%d`,
			c.messages, c.bytes); !strings.Contains(logged, says) {
			t.Errorf("%s: logged\n%s", c.line, logged)
		}
	}
}

// Each of these clients has traffic that a payload does not support, or sends another payload.
func TestAResponderSaysWhichByteIsWrong(t *testing.T) {
	wrong, right := " --payload_file_path "+payloadFile(t, aByteOff), payloadFile(t, eightBytes)
	for _, c := range []struct{ line, counter, says string }{
		{"perf send_bw -n 1000" + wrong, "wrong_payload", `level=WARN msg="wrong payload"`},
		{"perf send_bw -n 1000" + wrong, "wrong_payload",
			`offset=4 of="message 1" got=0x09 want=0x08 wrong_bytes=4096`},
		{"perf send_lat -n 1000 -s 5" + wrong, "wrong_payload",
			`offset=4 of="message 1" got=0x09 want=0x08 wrong_bytes=1`},
		{"perf send_bw -n 1000 -s 8", "wrong_payload", `of="message 1" got=0x`},
		{"perf write_bw -n 5 -s 16 -t 1" + wrong, "wrong_payload",
			`offset=4 of="the memory" got=0x09 want=0x08 wrong_bytes=5`},
		{"perf write_bw -n 5 -s 16 -t 1" + wrong, "wrong_payload", `reason="byte 4 of the memory is 0x09, want 0x08"`},
		{"perf atomic_bw -n 100", "failed", "changes them by atomics"},
		{"perf send_bw -n 100 -s 100000 --payload_file_path " + right, "failed",
			"a message of more than 65536 bytes came, give sessions more memory"},
	} {
		counted, logged := responding(t, wantsEight, func(t *testing.T, w *clitest.World) {
			_, client := clitest.Ends(c.line)
			if r := w.Run(t.Context(), client); (r.Code == 0) != strings.Contains(c.line, "write_bw") {
				t.Errorf("%s: %v", c.line, r)
			}
		})
		if counted["respond_ended_"+c.counter] != 1 || counted["respond_completed_perftest"] != 0 ||
			!strings.Contains(logged, c.says) {
			t.Errorf("%s: counted%s, want %s\n%s\nwant %s", c.line, nonzero(counted), c.counter, logged, c.says)
		}
	}
}
