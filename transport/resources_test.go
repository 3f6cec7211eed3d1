package transport

import (
	"slices"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"pgregory.net/rapid"
)

// Whatever is claimed, added and removed, the jobs are those of a list sorted by PSN, and find
// finds each by its resource.
func TestJobsAreInPSNOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r resources
		var want []job
		limit := rapid.IntRange(1, 4).Draw(t, "limit")
		next := bth.PSN(bth.MaxPSN - 3)
		t.Repeat(map[string]func(*rapid.T){
			"request": func(t *rapid.T) {
				g, n := &r.ring, limit
				if rapid.Bool().Draw(t, "flush") {
					g, n = &r.flushes, flushSlots
				}
				res := r.claim(g, n)
				if res == nil {
					t.Skip("all resources have a job")
				}
				want = slices.DeleteFunc(want, func(j job) bool { return j.res == res })
				*res = resource{first: next, end: next.Add(1), valid: true}
				j := job{res: res, next: next, replay: rapid.Bool().Draw(t, "again")}
				next = next.Add(1)
				r.insert(j)
				want = append(want, j)
			},
			"duplicate": func(t *rapid.T) {
				i := rapid.IntRange(0, max(0, len(r.ring.slots)-1)).Draw(t, "slot")
				if i >= len(r.ring.slots) || !r.ring.slots[i].valid || r.find(&r.ring.slots[i]) >= 0 {
					t.Skip("no resource without a job")
				}
				res := &r.ring.slots[i]
				j := job{res: res, next: res.first, replay: true}
				r.insert(j)
				want = append(want, j)
				slices.SortStableFunc(want, func(a, b job) int { return int(a.next.Diff(b.next)) })
			},
			"remove": func(t *rapid.T) {
				if len(want) == 0 {
					t.Skip("no job")
				}
				i := rapid.IntRange(0, len(want)-1).Draw(t, "job")
				r.remove(i)
				want = slices.Delete(want, i, i+1)
			},
			"drop": func(t *rapid.T) { r.drop(); want = nil },
			"": func(t *rapid.T) {
				if r.len != len(want) {
					t.Fatalf("%d jobs, want %d", r.len, len(want))
				}
				for i, w := range want {
					if *r.job(i) != w {
						t.Fatalf("job %d is %+v, want %+v", i, *r.job(i), w)
					}
					if at := r.find(w.res); at != i {
						t.Fatalf("find returns %d for job %d", at, i)
					}
				}
				for _, slots := range [][]resource{r.ring.slots, r.flushes.slots} {
					for i := range slots {
						has := slices.ContainsFunc(want, func(j job) bool { return j.res == &slots[i] })
						if slots[i].busy != has {
							t.Fatalf("resource %d: busy is %t, want %t", i, slots[i].busy, has)
						}
					}
				}
			},
		})
	})
}
