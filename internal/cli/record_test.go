package cli

import (
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
)

// told returns the output of 'gorxe trace'.
func told(t *testing.T, line string) string {
	t.Helper()
	line = "trace " + line
	r := newWorld().Run(t.Context(), line)
	clitest.MustSucceed(t, line, r)
	return r.Stdout.String()
}

func TestCommandsKeepTheirPackets(t *testing.T) {
	for _, test := range []struct {
		line  string
		verbs []string
	}{
		{"pingpong rc -n 3 -s 64", []string{"SEND"}},
		{"pingpong ud -n 3 -s 64", []string{"SEND"}},
		{"perf write_bw -n 5 -s 2000", []string{"WRITE"}},
		{"perf read_lat -n 5 -s 2000", []string{"READ"}},
	} {
		path := filepath.Join(t.TempDir(), "a.pcapng")
		server, client := clitest.Ends(test.line)
		s, c := clitest.Pair(t, newWorld, server, client+" --trace "+path)
		clitest.MustSucceed(t, server, s)
		if c.Code != 0 || !strings.HasSuffix(c.Stderr.String(), " in "+path+"\n") {
			t.Fatalf("%s: %v", client, c)
		}
		text := told(t, "--messages "+path)
		for _, verb := range test.verbs {
			if !strings.Contains(text, " "+verb) {
				t.Errorf("%s: no %s in\n%s", test.line, verb, text)
			}
		}
	}
}

func TestRpingKeepsItsPacketsAndThoseOfTheConnectionManager(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		s := w.Start(t.Context(), "rping -s -a 127.66.0.1 --trace "+path)
		synctest.Wait()
		c := w.Run(t.Context(), "rping -c -a 127.66.0.1 -I 127.66.0.2 -C 3")
		<-s.Done
		if s.Code != 0 || c.Code != 0 {
			t.Fatalf("%v\n%v", s, c)
		}
	})
	text := told(t, path)
	for _, want := range []string{"REQ", "REP", "RTU", "SEND", "READ", "WRITE"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// The trace contains the packets at A's end of the cable, each with a correct ICRC.
func TestDemoKeepsItsPackets(t *testing.T) {
	path := filepath.Join(t.TempDir(), "demo.pcapng")
	synctest.Test(t, func(t *testing.T) {
		r := newWorld().Run(t.Context(), "demo --link pipe write read atomic send rnr loss --trace "+path)
		if r.Code != 0 {
			t.Fatal(r)
		}
	})
	messages := told(t, "--messages "+path)
	for verb, n := range map[string]int{"  WRITE ": 9, "  READ ": 1, "  FAA ": 1, "  CAS ": 1, "  SEND ": 2} {
		if got := strings.Count(messages, verb); got != n {
			t.Errorf("%d of%s, want %d:\n%s", got, verb, n, messages)
		}
	}
	for _, want := range []string{"wr_id 1 RDMA_WRITE 6000 bytes, signaled; → wr_id 1 success\n",
		"wr_id 3 ATOMIC_FETCH_AND_ADD 8 bytes, signaled; → wr_id 3 success\n"} {
		if !strings.Contains(messages, want) {
			t.Errorf("no %q in\n%s", want, messages)
		}
	}
	for message := range strings.Lines(messages[strings.Index(messages, "\n")+1:]) {
		if strings.Count(message, "wr_id ") != 2 {
			t.Errorf("without its work request and completion: %s", message)
		}
	}
	if text := told(t, "-v "+path); !strings.Contains(text, "comment: queue pair 0x9def46: RTR to RTS\n") ||
		!strings.Contains(text, "comment: queue pair 0x9def46: RTS to ERR\n") {
		t.Errorf("no states in\n%s", text)
	}
	if r := newWorld().Run(t.Context(), "trace --filter error&&!nak "+path); r.Code != 0 || r.Stdout.Len() > 0 {
		t.Error(r)
	}
	text := told(t, path)
	for _, want := range []string{"retransmitted after a sequence NAK", "retransmitted after a timeout",
		"retransmitted after an RNR NAK"} {
		if !strings.Contains(text, want) {
			t.Errorf("nothing is %s", want)
		}
	}
}

func TestATraceThatCannotBeWrittenIsSaidBeforeAnythingElse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "no", "such", "folder")
	for _, line := range []string{"demo --link pipe --trace " + path, "pingpong rc -d 127.66.0.1 --trace " + path,
		"rping -s --ib-dev 127.66.0.1 --trace " + path} {
		r := newWorld().Run(t.Context(), line)
		if r.Code != app.ExitFailure || r.Stdout.Len() > 0 ||
			!strings.HasPrefix(r.Stderr.String(), "gorxe: --trace: ") {
			t.Errorf("%s: %v", line, r)
		}
	}
}

// Wireshark decodes packets, directions, the interface and gorxe's comments.
func TestTsharkReadsWhatADemoKeeps(t *testing.T) {
	tshark, err := exec.LookPath("tshark")
	if err != nil {
		t.Skip("tshark is not installed")
	}
	path := filepath.Join(t.TempDir(), "demo.pcapng")
	synctest.Test(t, func(t *testing.T) {
		if r := newWorld().Run(t.Context(), "demo --link pipe atomic --trace "+path); r.Code != 0 {
			t.Fatal(r)
		}
	})
	out, err := exec.Command(tshark, "-r", path, "-T", "fields", "-e", "frame.number", "-e", "frame.interface_name",
		"-e", "frame.packet_flags_direction",
		"-e", "ip.src", "-e", "udp.dstport", "-e", "infiniband.bth.psn", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), out)
	}
	for i, want := range []string{"127.0.0.1\t4791\t2597161\t",
		"127.0.0.2\t4791\t2597161\tcompletion of PSN 2597161: wr_id 1 success",
		"127.0.0.1\t4791\t2597162\twork request: wr_id 2 ATOMIC_CMP_AND_SWP 8 bytes, signaled",
		"127.0.0.2\t4791\t2597162\t"} {
		direction := "\tA\t2\t" // outbound
		if i%2 == 1 {
			direction = "\tA\t1\t"
		}
		if got := strings.ReplaceAll(lines[i], "0x00000002", "2"); !strings.Contains(got, want) ||
			!strings.Contains(strings.ReplaceAll(got, "0x00000001", "1"), direction) {
			t.Errorf("frame %d: %q, want %q and %q", i+1, lines[i], direction, want)
		}
	}
}

// Each packet of a datagram has its work request and its result.
func TestDatagramsHaveTheirWorkRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pcapng")
	server, client := clitest.Ends("pingpong ud -n 3 -s 64")
	s, c := clitest.Pair(t, newWorld, server, client+" --trace "+path)
	if s.Code != 0 || c.Code != 0 {
		t.Fatalf("%v\n%v", s, c)
	}
	text := told(t, "-v "+path)
	for _, want := range []string{"comment: work request: wr_id ", "comment: completion of PSN ",
		"comment: completion of a receive: wr_id "} {
		if n := strings.Count(text, want); n != 3 {
			t.Errorf("%d of %q in\n%s", n, want, text)
		}
	}
}
