package report_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/report"
)

func known(id string) bool { return strings.HasPrefix(id, "psn/") || sampleIDs[id] }

var sampleIDs = map[string]bool{"header/1": true, "rnr/1": true, "atomic/1": true, "cm/1": true}

func baseline(t *testing.T, text string) *report.Baseline {
	t.Helper()
	b, err := report.ReadBaseline(strings.NewReader(text), known)
	must(t, err)
	return b
}

func TestARunDiffersFromABaseline(t *testing.T) {
	all := "header/1 not run\npsn/2 warn # one | two\npsn/3\tfail#x\npsn/4 pass , unclear\natomic/1 unsupported\ncm/1 inconclusive\n"
	for _, c := range []struct{ name, text, want string }{
		{"equal", all, ""},
		{"a failure that the baseline does not name", strings.Replace(all, "psn/3\tfail#x\n", "", 1),
			"psn/3: fail, expected pass: a NAK of PSN 101 was expected, but came RC_ACKNOWLEDGE with PSN 102"},
		{"a case that passes although a failure is expected", all + "psn/1 fail # it sleeps\n",
			"psn/1: pass, expected fail (it sleeps)"},
		{"a case that did not run", all + "psn/99 fail\n", ""},
		{"another verdict", strings.Replace(all, "pass , unclear", "pass, fail", 1),
			"psn/4: unclear, expected pass, fail: answers; hfi1 does not"},
	} {
		if got := strings.Join(baseline(t, c.text).Differences(sample("A")), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestAWrittenBaselineEqualsItsRun(t *testing.T) {
	old := baseline(t, "psn/2 pass, warn # flaky\npsn/3 pass # old\npsn/9 fail # not run now\n")
	var b bytes.Buffer
	must(t, report.WriteBaseline(&b, sample("device A"), old))
	want := `# Expected verdicts of gorxe conform for device A.
# Cases that are not named pass or are observed.
header/1      not run         # needs a raw link
psn/2         pass, warn      # flaky
psn/3         fail            # a NAK of PSN 101 was expected, but came RC_ACKNOWLEDGE with PSN 102
psn/4         unclear         # answers; hfi1 does not
atomic/1      unsupported     # no atomics
cm/1          inconclusive    # nothing came
psn/9         fail            # not run now
`
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
	if d := baseline(t, b.String()).Differences(sample("A")); len(d) > 0 {
		t.Errorf("%q", d)
	}
}

func TestABaselineIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"\npsn/3 fails":            `line 2: "fails" is no verdict: write for example 'psn/3 fail  # reason'`,
		"psn/3":                    `line 1: "" is no verdict: write for example 'psn/3 fail  # reason'`,
		"x/3 fail":                 `line 1: there is no case "x/3"`,
		"psn/3 fail\npsn/3 fail":   `line 2: psn/3 stands in an earlier line, too`,
		strings.Repeat("x", 1<<17): `a line is too long for a baseline`,
	} {
		if _, err := report.ReadBaseline(strings.NewReader(text), known); err == nil || err.Error() != want {
			t.Errorf("%.20q: %v, want %s", text, err, want)
		}
	}
}
