package soak

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/conformance/leaks"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/icrc"
)

// soaked returns a report without failures.
func soaked() *Report {
	r := &Report{Clients: map[string]*Visits{}, Known: map[string]int{}}
	rping := cell.Workload{Tool: &tools[0], Params: cell.Params{Size: 64, Iters: 100}}
	for range 100 {
		r.visited(rping, false, nil, "")
	}
	r.visited(rping, true, errors.New("killed"), "")
	r.visited(soakOf("ib_send_lat", 128, 10), false, nil, "")
	r.visited(soakOf("ib_write_bw", 64, 1000), false, nil, "")
	r.capture(&icrc.Summary{Packets: 1000}, 3)
	r.sample(1, leaks.Gauges{"process_resident_memory_bytes": 1 << 20, checkedBytes: 128*10 + 4096})
	return r
}

func soakOf(tool string, size, iters int) cell.Workload {
	i := slices.IndexFunc(tools, func(t cell.Tool) bool { return t.Name == tool })
	return cell.Workload{Tool: &tools[i], Params: cell.Params{Size: size, Iters: iters}}
}

func TestVerdictOfASoak(t *testing.T) {
	for name, c := range map[string]struct {
		harm func(r *Report)
		want string
	}{
		"nothing":             {func(*Report) {}, ""},
		"something was noted": {func(r *Report) { r.wrong("it burns") }, "it burns"},
		"a wrong byte":        {func(r *Report) { r.sample(0, leaks.Gauges{wrongPayload: 1}) }, "left bytes"},
		"a wrong packet": {func(r *Report) { r.capture(&icrc.Summary{Bad: 1, Faults: []string{"frame 7"}}, 0) },
			"on the wire: frame 7"},
		"nothing was captured": {func(r *Report) { r.Packets = 0 }, "nothing was"},
		"nothing was compared": {func(r *Report) { r.Counters = nil }, "nothing was"},
		"bytes nobody compared": {func(r *Report) { r.visited(soakOf("ib_write_bw", 1<<20, 1), false, nil, "") },
			"compared 5376 bytes of perftest, its clients sent 1053952"},
		"nobody came":           {func(r *Report) { clear(r.Clients) }, "nothing was"},
		"the kernel complained": {func(r *Report) { r.Complaints = []string{"BUG: x"} }, "BUG: x"},
		"one excuse": {func(r *Report) {
			r.visited(cell.Workload{Tool: &tools[0], Params: cell.Params{}}, false, errors.New("status 9"), misnumbered)
		}, ""},
		"too many excuses": {func(r *Report) {
			for range 6 {
				r.visited(cell.Workload{Tool: &tools[0], Params: cell.Params{}}, false,
					errors.New("status 9"), misnumbered)
			}
		}, "too many"},
	} {
		r := soaked()
		c.harm(r)
		got := strings.Join(r.Verdict(), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheListOfWhatIsWrongIsBounded(t *testing.T) {
	r := soaked()
	for range maxWrong + 5 {
		r.wrong("again")
	}
	if v := r.Verdict(); len(v) != maxWrong+1 || v[maxWrong] != "and 5 more" {
		t.Errorf("%d lines, the last %q", len(v), v[len(v)-1])
	}
}

func TestWhatToolsSayOfTheirQueuePairs(t *testing.T) {
	log := " local address: LID 0000 QPN 0x0011 PSN 0x5\n remote address: LID 0000 QPN 0x0a12 PSN 0x1 RKey 0x1\n" +
		"  remote address: LID 0x0000, QPN 0x00000b, PSN 0x1, GID ::1\n"
	if got := qpns(log); !slices.Equal(got, []uint32{0xa12, 0xb}) {
		t.Errorf("queue pairs %#x", got)
	}
	for _, says := range []string{"Failed status 9: wr_id 0", "cq completion failed status 9",
		"Failed status remote invalid request error (9)"} {
		if !refusedByPeer.MatchString(says) {
			t.Errorf("%q is not seen as a refusal", says)
		}
	}
	if refusedByPeer.MatchString("Failed status 12: wr_id 0 syndrom 0x81") {
		t.Error("a peer that does not answer is seen as a refusal")
	}
}

func TestWhatRpingSaysAtItsEnd(t *testing.T) {
	for log, want := range map[string]string{
		"client DISCONNECT EVENT...\n": neverFlushed,
		"client DISCONNECT EVENT...\nunhandled event: RDMA_CM_EVENT_TIMEWAIT_EXIT, ignoring\n": neverFlushed,
		"client DISCONNECT EVENT...\nwait for RDMA_WRITE_ADV state 10\n":                       "",
		"data mismatch!\nclient DISCONNECT EVENT...\n":                                         "",
		"": "",
		"client DISCONNECT EVENT...\nrdma_get_cm_event: Bad file descriptor\n": threadsRace,
	} {
		if got := (&server{}).known(log, false, time.Time{}); got != want {
			t.Errorf("%q: %q, want %q", log, got, want)
		}
	}
}

func TestThePayloadOfASoakHasNoByteTwice(t *testing.T) {
	words := strings.Split(payload, ",")
	seen := map[string]bool{}
	for i, w := range words {
		if !regexp.MustCompile(`^0x[0-9a-f]{8}$`).MatchString(w) {
			t.Fatalf("word %d is %q", i, w)
		}
		for b := 2; b < len(w); b += 2 {
			seen[w[b:b+2]] = true
		}
	}
	if len(words) != 16 || len(seen) != 64 {
		t.Errorf("%d words and %d different bytes, want 16 and 64", len(words), len(seen))
	}
}
