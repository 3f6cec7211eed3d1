package machine

import "testing"

func TestComplaints(t *testing.T) {
	for line, want := range map[string]bool{
		"[   12.3] BUG: unable to handle page fault for address: ffffa":        true,
		"[   12.3] general protection fault, probably for non-canonical":       true,
		"[   12.3] WARNING: CPU: 1 PID: 77 at drivers/infiniband/sw/rxe/x.c:1": true,
		"[   12.3] Kernel panic - not syncing: Fatal exception":                true,
		"[   12.3] refcount_t: underflow; use-after-free.":                     true,
		"[   12.3] watchdog: BUG: soft lockup - CPU#0 stuck for 23s!":          false,
		"[   12.3] rdma_rxe: loaded":                                           false,
	} {
		if got := complaint.MatchString(line); got != want {
			t.Errorf("%q: %v", line, got)
		}
	}
}
