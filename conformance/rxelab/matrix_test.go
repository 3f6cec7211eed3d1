package rxelab

import (
	"fmt"
	"testing"
)

func matrix(t *testing.T, level Level) []Cell {
	t.Helper()
	cells, err := Matrix(Core, level, Suites)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// wantFull spells the matrix out as it was agreed, independently of the tables.
func wantFull() map[string]bool {
	want := map[string]bool{}
	conditions := []string{"clean"}
	for _, name := range []string{"loss-1pc", "loss-5pc", "reorder-5pc", "duplicate-5pc"} {
		conditions = append(conditions, name+"-to-rxe", name+"-to-gorxe")
	}
	var runs []string
	for _, size := range []int{1, 4096, 8193, 65536, 1000003} {
		for _, mtu := range []int{256, 1024, 4096} {
			runs = append(runs, fmt.Sprintf("ibv_rc_pingpong/%d--m-%d", size, mtu))
		}
	}
	for _, op := range []string{"write", "read", "send"} {
		for _, params := range []string{"2", "1023", "1025", "65536", "a"} {
			runs = append(runs, "ib_"+op+"_bw/"+params, "ib_"+op+"_lat/"+params)
		}
		runs = append(runs, "ib_"+op+"_bw/65536--q-4", "ib_"+op+"_bw/65536--b")
	}
	for _, suite := range []string{"bookworm", "trixie"} {
		for _, cond := range conditions {
			for _, run := range runs {
				for _, role := range []string{"client", "server"} {
					for _, family := range []string{"IPv4", "IPv6"} {
						want[suite+"/"+cond+"/"+run+"/gorxe-"+role+"/"+family] = true
					}
				}
			}
		}
	}
	return want
}

func TestFullLevelHasEveryCellOnce(t *testing.T) {
	want := wantFull()
	seen := map[string]bool{}
	for _, c := range matrix(t, LevelFull) {
		id := c.ID()
		if seen[id] {
			t.Errorf("%s: twice", id)
		}
		if !want[id] {
			t.Errorf("%s: not agreed", id)
		}
		seen[id] = true
	}
	for id := range want {
		if !seen[id] {
			t.Errorf("%s: missing", id)
		}
	}
}

func TestCILevelCoversEveryValue(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range matrix(t, LevelCI) {
		for _, key := range covers(c) {
			seen[key] = true
		}
	}
	for _, c := range matrix(t, LevelFull) {
		for _, key := range covers(c) {
			if !seen[key] {
				t.Errorf("no cell with %s", key)
				seen[key] = true
			}
		}
	}
}

// covers lists the combinations that a representative matrix must have at least once.
func covers(c Cell) []string {
	w, cond := c.Workload, c.Condition
	keys := []string{
		fmt.Sprint("condition and tool: ", cond, " ", w.Tool.Name),
		fmt.Sprint("condition and role: ", cond, " ", c.Role),
		fmt.Sprint("condition and family: ", cond, " ", c.Family),
		fmt.Sprint("tool, role and family: ", w.Tool.Name, " ", c.Role, " ", c.Family),
		fmt.Sprint("workload: ", w.Tool.Name, " ", w.Params),
	}
	if cond.impaired() {
		keys = append(keys,
			fmt.Sprint("disturbed tool and role: ", w.Tool.Name, " ", c.Role, " ", cond.Direction),
			fmt.Sprint("disturbed tool and family: ", w.Tool.Name, " ", c.Family))
	}
	for i := range keys {
		keys[i] = c.Suite + ", " + keys[i]
	}
	return keys
}

func TestMatrixRefusesUnknownNames(t *testing.T) {
	if _, err := Matrix(Core, "most", Suites); err == nil {
		t.Error("level most: no error")
	}
	if _, err := Matrix(Core, LevelCI, []string{"potato"}); err == nil {
		t.Error("kernel potato: no error")
	}
}

func TestTimeoutsGrowWithWorkAndLoss(t *testing.T) {
	cell := func(p Params, c Condition) Cell { return Cell{Workload: Workload{&Core.Tools()[1], p}, Condition: c} }
	small, all := Params{Size: 2, Iters: 100}, Params{All: true, Iters: 5}
	lossy := Conditions()[1]
	if a, b := cell(small, Clean).Timeout(), cell(all, Clean).Timeout(); a >= b {
		t.Errorf("small %v, all sizes %v", a, b)
	}
	if a, b := cell(all, Clean).Timeout(), cell(all, lossy).Timeout(); a >= b {
		t.Errorf("clean %v, lossy %v", a, b)
	}
}
