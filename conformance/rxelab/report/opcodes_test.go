package report

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

func TestOpcodesAreThoseOfCellsThatPassed(t *testing.T) {
	day := time.Date(2026, 3, 4, 0, 0, 0, 0, time.UTC)
	ran := func(suite, tool string, sent, received []int, failures ...string) Result {
		return Result{Suite: suite, Tool: tool, Failures: failures, Traffic: Traffic{Sent: sent, Received: received}}
	}
	old, recent := KernelVersion{Suite: "bookworm", Release: "6.1.0"}, KernelVersion{Suite: "trixie", Release: "6.12.1"}
	got, err := Opcodes(
		&Report{Started: day, Kernels: []KernelVersion{recent, old}, Results: []Result{
			ran("bookworm", "ib_send_bw", []int{0x04}, []int{0x11}),
			ran("bookworm", "ib_read_bw", []int{0x0c}, nil, "it failed"),
			ran("trixie", "ib_send_bw", []int{0x00, 0x02}, nil),
		}},
		&Report{Started: day, Group: cell.Verbs, Kernels: []KernelVersion{old}, Results: []Result{
			ran("bookworm", "ibv_ud_pingpong", []int{0x64}, []int{0x64}),
			ran("bookworm", "ibv_uc_pingpong", nil, nil),
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	want := `{
	"kernels": [
		{
			"kernel": "6.1.0",
			"source": "packets captured in runs of 2026-03-04: ib_send_bw, ibv_ud_pingpong",
			"sent": [
				"RC_SEND_ONLY",
				"UD_SEND_ONLY"
			],
			"received": [
				"RC_ACKNOWLEDGE",
				"UD_SEND_ONLY"
			]
		},
		{
			"kernel": "6.12.1",
			"source": "packets captured in runs of 2026-03-04: ib_send_bw",
			"sent": [
				"RC_SEND_FIRST",
				"RC_SEND_LAST"
			],
			"received": []
		}
	]
}
`
	if d := cmp.Diff(want, string(got)); d != "" {
		t.Error(d)
	}
}
