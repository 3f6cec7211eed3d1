package cell

import (
	"fmt"
	"slices"
)

// Suites are the Debian releases whose kernels the lab knows: 6.1 and 6.12.
var Suites = []string{"bookworm", "trixie"}

// Level selects how much of the matrix is run.
type Level string

// The levels.
const (
	LevelCI   Level = "ci"   // a subset that takes minutes
	LevelFull Level = "full" // every cell
)

// Matrix returns the cells of a group and level for the kernels. Cells of one condition are
// adjacent.
func Matrix(group Group, level Level, suites []string) ([]Cell, error) {
	if err := group.Check(); err != nil {
		return nil, err
	}
	var selected func(Cell) bool
	switch level {
	case LevelCI:
		selected = representative(group)
	case LevelFull:
		selected = func(Cell) bool { return true }
	default:
		return nil, fmt.Errorf("level %q: want %s or %s", level, LevelCI, LevelFull)
	}
	for _, s := range suites {
		if !slices.Contains(Suites, s) {
			return nil, fmt.Errorf("kernel %q: want one of %v", s, Suites)
		}
	}
	var cells []Cell
	for _, s := range suites {
		for _, cond := range Conditions() {
			for _, w := range group.Workloads() {
				if w.Tool.on(s) && w.Survives(cond) {
					cells = append(cells, each(s, cond, w)...)
				}
			}
		}
	}
	return slices.DeleteFunc(cells, func(c Cell) bool { return !selected(c) }), nil
}

// each returns a workload in both roles and both address families.
func each(suite string, cond Condition, w Workload) []Cell {
	cells := []Cell{
		{suite, w, Client, IPv4, cond}, {suite, w, Server, IPv4, cond},
		{suite, w, Client, IPv6, cond}, {suite, w, Server, IPv6, cond},
	}
	return slices.DeleteFunc(cells, func(c Cell) bool {
		return !w.Tool.over(suite, c.Family) || c.Role == Client && w.Tool.Talk != nil && w.Tool.Talk.Daemon
	})
}

// representative returns the selection of cells for LevelCI:
//
//   - undisturbed: every workload in both roles, with alternating address families; long runs in
//     one role;
//   - disturbed: every tool once under every condition, with alternating roles, families and
//     parameters.
//
// Of Verbs it selects every undisturbed workload in one role, alternating, long ones on one
// kernel, and disturbed ones on one of the kernels that support them. Of CM it selects, as of
// Core, every undisturbed workload in both roles; a host that does not exist is tried once, by
// gorxe. The alternation depends only on positions in the tables, so a selection is reproducible.
func representative(group Group) func(Cell) bool {
	workload := map[Workload]int{}
	for i, w := range group.Workloads() {
		workload[w] = i
	}
	condition := map[string]int{}
	for i, c := range Conditions() {
		condition[c.String()] = i
	}
	return func(c Cell) bool {
		w := workload[c.Workload]
		tool := slices.IndexFunc(group.Tools(), func(t Tool) bool { return t.Name == c.Workload.Tool.Name })
		if !c.Condition.Impaired() {
			if group == Verbs {
				return int(c.Role) == w%2 && int(c.Family) == (w/2+tool)%2 &&
					(!c.Workload.Long() || slices.Index(Suites, c.Suite) == tool%2)
			}
			if group == Alone {
				return int(c.Family) == w%2 || w == 0
			}
			if c.Outcome() == Unreachable {
				return c.Role == Client && int(c.Family) == w%2 && slices.Index(Suites, c.Suite) == w%2
			}
			turn := w + int(c.Role)
			if !c.Workload.Tool.over(c.Suite, IPv6) {
				turn = int(IPv4)
			}
			return int(c.Family) == turn%2 && (!c.Workload.Long() || int(c.Role) == w%4/2)
		}
		n := condition[c.Condition.String()] - 1
		if group != Core && c.Workload.Tool.Suites == nil && slices.Index(Suites, c.Suite) != (n+tool/3)%len(Suites) {
			return false
		}
		short := slices.DeleteFunc(slices.Clone(c.Workload.Tool.runs()), func(p Params) bool {
			w := Workload{c.Workload.Tool, p}
			return w.Long() || !w.Survives(c.Condition)
		})
		return len(short) > 0 && c.Workload.Params == short[(n*5+tool*2)%len(short)] &&
			int(c.Role) == (n/2+tool)%2 && int(c.Family) == (n/4+n+tool/2)%2
	}
}

// Long reports whether a workload takes so long that LevelCI has it only once.
func (w Workload) Long() bool {
	return w.Params.All || w.Packets() > 10000 || w.Tool.Talk != nil && w.Tool.Talk.Outcome == Unreachable
}
