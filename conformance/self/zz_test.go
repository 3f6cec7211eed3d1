package self

import (
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
)

func TestDiscover(t *testing.T) {
	want := os.Getenv("DISCOVER")
	if want == "" {
		t.Skip()
	}
	var all []*conformance.Case
	for _, c := range cases.All() {
		if want == "all" || slices.Contains(strings.Split(want, ","), c.Chapter()) {
			all = append(all, c)
		}
	}
	s := &session{Options: Options{}, plain: map[string]*conformance.Result{}, slots: make(chan struct{}, 24)}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, c := range all {
		wg.Go(func() {
			x := s.judge(t.Context(), nil, c, good)
			mu.Lock()
			defer mu.Unlock()
			s.plain[c.ID] = x
			if x.Verdict != conformance.Pass {
				fmt.Printf("PLAIN %s %v: %s (%v)\n", c.ID, x.Verdict, x.Detail, x.Elapsed)
			}
		})
	}
	wg.Wait()
	by := map[string][]string{}
	names := os.Getenv("MUTANT")
	for _, m := range Mutants() {
		if names != "" && !slices.Contains(strings.Split(names, ","), m.Name) {
			continue
		}
		for _, c := range all {
			if p := s.plain[c.ID]; !good(p) {
				continue
			}
			wg.Go(func() {
				s.slots <- struct{}{}
				x := s.once(t.Context(), m, c, 1e9, 25e6)
				<-s.slots
				p := s.plain[c.ID]
				mu.Lock()
				defer mu.Unlock()
				if names != "" {
					fmt.Printf("RUN %s %s %v: %s (%v)\n", m.Name, c.ID, x.Verdict, x.Detail, x.Elapsed)
				}
				if x.Verdict != p.Verdict {
					tag := c.ID
					switch x.Verdict {
					case conformance.Fail, conformance.Warn:
					default:
						tag += "(" + x.Verdict.String() + ")"
					}
					by[m.Name] = append(by[m.Name], tag)
				} else if c.Level == conformance.Observed && strings.Map(nodigit, x.Detail) != strings.Map(nodigit, p.Detail) {
					by[m.Name] = append(by[m.Name], c.ID+"(obs)")
				}
			})
		}
	}
	wg.Wait()
	covered := map[string]int{}
	for _, m := range Mutants() {
		sort.Strings(by[m.Name])
		fmt.Printf("MUT %s: %s\n", m.Name, strings.Join(by[m.Name], " "))
		for _, id := range by[m.Name] {
			if !strings.Contains(id, "(") {
				covered[id]++
			}
		}
	}
	for _, c := range all {
		if covered[c.ID] == 0 {
			fmt.Printf("BARE %s %v: %s\n", c.ID, c.Level, c.Rule)
		}
	}
}

func nodigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}
