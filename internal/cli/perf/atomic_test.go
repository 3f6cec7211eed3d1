package perf

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/clitest"
	wire "github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/verbs"
)

func TestPerfAtomics(t *testing.T) {
	for _, test := range []wire.Test{wire.AtomicBW, wire.AtomicLat} {
		flags := []string{"-n 20", "-n 20 -A CMP_AND_SWAP", "-n 20 -A FETCH_AND_ADD -o 1", "-n 300 -o 128",
			"-n 20 -s 8"}
		if !test.Latency() {
			flags = append(flags, "-n 20 -q 4", "-n 20 -b", "-n 100 -l 20", "-n 1000 -t 10", "-n 50 -N", "-n 50 -Q 7")
		}
		for _, f := range flags {
			line := fmt.Sprintf("perf %v %s", test, f)
			server, client := clitest.Ends(line)
			s, c := clitest.Pair(t, newWorld, server, client)
			clitest.MustSucceed(t, line, s, c)
			operation := "FETCH_AND_ADD"
			if strings.Contains(f, "CMP_AND_SWAP") {
				operation = "CMP_AND_SWAP"
			}
			for role, r := range []*clitest.Run{s, c} {
				want := 1
				if test == wire.AtomicLat && role == 0 {
					want = 0
				}
				if got := rows(r); len(got) != want || want == 1 && !strings.HasPrefix(got[0], "8 ") {
					t.Errorf("%s: rows %v, want %d of 8 bytes", line, got, want)
				}
				if !strings.Contains(r.Stdout.String(), " Atomic "+operation+" ") {
					t.Errorf("%s: %v", line, r)
				}
			}
		}
	}
}

// The requests of perftest: fetch and add adds 1, compare and swap replaces 0 with 0.
func TestAtomicsOfPerf(t *testing.T) {
	for args, want := range map[string]struct {
		op  verbs.WROpcode
		add uint64
	}{
		"-A FETCH_AND_ADD": {verbs.WRFetchAdd, 1}, "-A CMP_AND_SWAP": {verbs.WRCmpSwap, 0},
	} {
		p := completed(t, wire.AtomicBW, strings.Fields(args)...)
		if p.opcode() != want.op || p.operand() != want.add || p.access() != verbs.RemoteAtomic {
			t.Errorf("%s: %v %d %v", args, p.opcode(), p.operand(), p.access())
		}
	}
}
