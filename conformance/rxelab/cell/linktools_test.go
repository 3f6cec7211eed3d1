package cell

import (
	"slices"
	"strings"
	"testing"
)

// Every tool of the core runs over every other link, in both roles and over both families; the
// level of CI includes every tool and role.
func TestLinksRunTheCoresTools(t *testing.T) {
	conditions := []string{"clean", "loss 1 % to rxe", "loss 1 % to gorxe"}
	full, err := Matrix(Links, LevelFull, Suites)
	if err != nil {
		t.Fatal(err)
	}
	part, err := Matrix(Links, LevelCI, Suites)
	if err != nil {
		t.Fatal(err)
	}
	has := func(cells []Cell, suite, tool string, cond string, role Role, families ...Family) bool {
		return slices.ContainsFunc(cells, func(c Cell) bool {
			return c.Suite == suite && c.Workload.Tool.Name == tool && c.Condition.String() == cond && c.Role == role &&
				slices.Contains(families, c.Family)
		})
	}
	for _, tool := range coreTools {
		for _, name := range []string{tool.Name + ", raw", tool.Name + ", xdp"} {
			for _, suite := range Suites {
				there := suite == "trixie" || strings.HasSuffix(name, "raw")
				for _, role := range []Role{Client, Server} {
					for _, cond := range conditions {
						for _, f := range []Family{IPv4, IPv6} {
							if has(full, suite, name, cond, role, f) != there {
								t.Errorf("%s %s of %s as %v over %v: there %v, want %v", cond, name, suite, role, f,
									!there, there)
							}
						}
					}
					if has(part, suite, name, "clean", role, IPv4, IPv6) != there {
						t.Errorf("level ci, %s of %s as %v: there %v, want %v", name, suite, role, !there, there)
					}
				}
			}
		}
	}
	for _, c := range full {
		if !slices.Contains(conditions, c.Condition.String()) {
			t.Errorf("%s: not among %q", c.ID(), conditions)
		}
		if argv := c.gorxe(End{}, 1, ""); !slices.Contains(argv, "--link") {
			t.Errorf("%s: gorxe is started as %q, without --link", c.ID(), argv)
		}
		if argv := c.stock(End{}, 1, ""); slices.Contains(argv, "--link") || strings.Contains(argv[0], ",") {
			t.Errorf("%s: the tool is started as %q", c.ID(), argv)
		}
	}
}
