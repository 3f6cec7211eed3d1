package cell

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func matrix(t *testing.T, level Level) []Cell {
	t.Helper()
	cells, err := Matrix(Core, level, Suites)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// wantFull returns the agreed matrix, independently of the tables.
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
	mustCover(t, matrix(t, LevelCI), matrix(t, LevelFull), covers)
}

// mustCover fails the test unless the keys of part include the keys of all cells.
func mustCover(t *testing.T, part, all []Cell, keys func(Cell) []string) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range part {
		for _, key := range keys(c) {
			seen[key] = true
		}
	}
	for _, c := range all {
		for _, key := range keys(c) {
			if !seen[key] {
				t.Errorf("no cell with %s", key)
				seen[key] = true
			}
		}
	}
}

// covers returns the combinations that a representative matrix must contain at least once.
func covers(c Cell) []string {
	w, cond := c.Workload, c.Condition
	keys := []string{
		fmt.Sprint("condition and tool: ", cond, " ", w.Tool.Name),
		fmt.Sprint("condition and role: ", cond, " ", c.Role),
		fmt.Sprint("condition and family: ", cond, " ", c.Family),
		fmt.Sprint("tool, role and family: ", w.Tool.Name, " ", c.Role, " ", c.Family),
		fmt.Sprint("workload: ", w.Tool.Name, " ", w.Params),
	}
	if cond.Impaired() {
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

func verbsMatrix(t *testing.T, level Level) []Cell {
	t.Helper()
	cells, err := Matrix(Verbs, level, Suites)
	if err != nil {
		t.Fatal(err)
	}
	return cells
}

// The conditions for each tool of the second group are listed here, independently of the tables.
func TestVerbsGroupRunsEveryToolWhereItCanSurvive(t *testing.T) {
	const all, unlost, reordered = 9, 5, 3 // conditions
	want := map[string][2]int{}            // maximum number of conditions on 6.1 and on 6.12
	for _, name := range []string{
		"ib_atomic_bw -A FETCH_AND_ADD", "ib_atomic_bw -A CMP_AND_SWAP",
		"ib_atomic_lat -A FETCH_AND_ADD", "ib_atomic_lat -A CMP_AND_SWAP",
		"ib_write_bw -I 256", "ib_send_bw -I 256", "ib_write_lat -I 256",
		"ib_send_lat -I 256", "ib_write_bw --write_with_imm",
		"ib_write_lat --write_with_imm", "ibv_srq_pingpong", "ib_write_bw -c UC",
		"verbs_peer window1", "verbs_peer window2", "verbs_peer send_inv", "verbs_peer send_inv_data",
		"verbs_peer local_inv",
		"verbs_peer send_imm",
	} {
		want[name] = [2]int{all, all}
	}
	for _, name := range []string{
		"ibv_uc_pingpong", "ibv_ud_pingpong", "ib_send_bw -c UC", "ib_write_lat -c UC", "ib_send_lat -c UC",
		"ib_send_bw -c UD", "ib_send_lat -c UD",
		"verbs_peer window1 -refused", "verbs_peer window2 -refused",
		"verbs_peer send_inv -refused", "verbs_peer local_inv -refused",
		"verbs_peer send_inv_data -refused", "verbs_peer uc_send_imm", "verbs_peer uc_write_imm",
		"verbs_peer ud_send_imm",
	} {
		want[name] = [2]int{reordered, reordered}
	}
	want["verbs_peer flush"], want["verbs_peer atomic_write"] = [2]int{0, unlost}, [2]int{0, unlost}
	want["verbs_peer flush -refused"], want["verbs_peer atomic_write -refused"] = [2]int{0, reordered},
		[2]int{0, reordered}

	got := map[string][2]int{}
	for _, w := range Verbs.Workloads() {
		for i, suite := range Suites {
			n := 0
			for _, c := range Conditions() {
				if w.Tool.on(suite) && w.Survives(c) {
					n++
				}
			}
			g := got[w.Tool.Name]
			g[i] = max(g[i], n)
			got[w.Tool.Name] = g
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// If the network may reorder packets, a message must fit in one packet.
	for _, w := range Verbs.Workloads() {
		if w.Tool.Loses && !w.Tool.OneWay && !w.Params.single() && w.Survives(Conditions()[5]) {
			t.Errorf("%s %v under %v: its messages do not survive that", w.Tool.Name, w.Params, Conditions()[5])
		}
	}
	seen := map[string]bool{}
	for _, c := range verbsMatrix(t, LevelFull) {
		if id := c.ID(); seen[id] {
			t.Errorf("%s: twice", id)
		} else {
			seen[id] = true
		}
	}
}

func TestVerbsGroupAtLevelCIHasEveryToolInEveryRole(t *testing.T) {
	keys := func(c Cell) []string {
		w := c.Workload
		k := []string{
			fmt.Sprint("workload: ", w.Tool.Name, " ", w.Params),
			fmt.Sprint("condition and tool: ", c.Condition, " ", w.Tool.Name),
			fmt.Sprint("condition and role: ", c.Suite, " ", c.Condition, " ", c.Role),
		}
		if !w.Long() {
			k = append(k, fmt.Sprint("short workload: ", c.Suite, " ", w.Tool.Name, " ", w.Params))
		}
		if len(w.Tool.runs()) > 1 {
			k = append(k, fmt.Sprint("tool and role: ", w.Tool.Name, " ", c.Role),
				fmt.Sprint("tool and family: ", w.Tool.Name, " ", c.Family))
		}
		return k
	}
	mustCover(t, verbsMatrix(t, LevelCI), verbsMatrix(t, LevelFull), keys)
}
