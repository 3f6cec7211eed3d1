package rdmacore_test

import (
	"os"
	"strings"
	"testing"
)

// docs/rdma-core-tests.md has a row for every test in the files of rdma-core that it lists:
// "covered" for those in this package, and a reason for each of the others.
func TestRDMACoreTable(t *testing.T) {
	page, err := os.ReadFile("../../docs/rdma-core-tests.md")
	if err != nil {
		t.Fatal(err)
	}
	covered := map[string]bool{}
	rows := map[string]bool{}
	file := ""
	for line := range strings.Lines(string(page)) {
		if name, ok := strings.CutPrefix(line, "## "); ok {
			file = strings.TrimSpace(name)
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.HasPrefix(cells[1], " test_") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		name, state, why := cells[1], cells[2], cells[3]
		key := file + "/" + name
		if rows[key] {
			t.Errorf("%s stands in the table twice", key)
		}
		rows[key] = true
		switch {
		case state == "covered":
			covered[key] = true
			if rdmaCore[file][name] == nil {
				t.Errorf("%s is called covered, and there is no such test", key)
			}
		case why == "":
			t.Errorf("%s is %q, and the table does not say why", key, state)
		}
	}
	for file, tests := range rdmaCore {
		for name := range tests {
			if !covered[file+"/"+name] {
				t.Errorf("%s/%s is a test, and the table does not call it covered", file, name)
			}
		}
	}
}
