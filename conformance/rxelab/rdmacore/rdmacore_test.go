package rdmacore

import "testing"

func TestResultsAreFoundAmongWhatTheTestsPrint(t *testing.T) {
	out := "a warning\nRESULT\tskip\ttests.b\tno XRC\nof a test\tRESULT\n\n" +
		"RESULT\tfail\ttests.a\tat first\nRESULT\tpass\ttests.a\t\nRESULT\tfail\ttests.c\tErrno 5\n"
	got, err := parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if text, want := got.text(), "tests.a\tpass\ntests.b\tskip\tno XRC\ntests.c\tfail\tErrno 5\n"; text != want {
		t.Errorf("%q, want %q", text, want)
	}
	if s, want := got.summary(), "1 tests pass, 1 are skipped, 1 fail\n  tests.c: Errno 5"; s != want {
		t.Errorf("%q, want %q", s, want)
	}
	for _, bad := range []string{"", "no results\n", "RESULT\tpass\ttests.a\n"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("no error in %q", bad)
		}
	}
}

func TestVersionsAreShortened(t *testing.T) {
	for _, c := range []struct {
		full    string
		numbers int
		want    string
	}{
		{"6.12.41+deb13-amd64", 2, "6.12"}, {"6.1.0-39-amd64", 2, "6.1"}, {"7", 2, "7"},
		{"44.0-2", 1, "44"}, {"56.1-1", 1, "56"},
	} {
		if got := version(c.full, c.numbers); got != c.want {
			t.Errorf("%s: %s, want %s", c.full, got, c.want)
		}
	}
}
