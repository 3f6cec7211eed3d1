package report

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// blanks is an endless source.
type blanks struct{}

func (blanks) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

func TestAFileIsLimitedInBytes(t *testing.T) {
	n, err := io.Copy(io.Discard, &limitedJSON{src: blanks{}})
	if err == nil || err.Error() != "more than 128 MiB" || n > maxJSON {
		t.Errorf("%d bytes: %v", n, err)
	}
	if _, err := Read(io.LimitReader(blanks{}, 1<<20)); err == nil || !strings.Contains(err.Error(), "empty") {
		t.Error(err)
	}
}

func TestKeysAreShortNamesOfFiles(t *testing.T) {
	for s, want := range map[string]string{
		"psn/3": "psn-3", "../../etc/passwd": "etc-passwd", "a/../b\x00": "a-..-b", "<b>": "b", "é": "", "...": "",
		strings.Repeat("x", 99): strings.Repeat("x", maxKey),
	} {
		if got := key(s); got != want {
			t.Errorf("%q: %q, want %q", s, got, want)
		}
	}
}

func TestNumbersAreShort(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0", 1.234: "1.23", -12.34: "-12.3", 123456.7: "123457", 0.001234: "0.00123", 1e15: "1e+15", 1e308: "1e+308",
		-1e300: "-1e+300", 1e-300: "0.000000000",
	} {
		if got := number(x); got != want {
			t.Errorf("%g: %s, want %s", x, got, want)
		}
	}
}

func TestAFileIsLimitedInCases(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"format":1,"cases":[`)
	for i := range maxCases + 1 {
		fmt.Fprintf(&b, `{"id":"psn/%d","verdict":"pass"},`, i)
	}
	b.WriteString(`{}]}`)
	if _, err := Read(strings.NewReader(b.String())); err == nil || err.Error() != "more than 4096 cases" {
		t.Error(err)
	}
}

func TestCaptureNamesHaveNoFolder(t *testing.T) {
	c := &Case{ID: "psn/3"}
	for device, want := range map[string]string{
		"": "psn-3.pcapng", "rxe 6.12": "rxe-6.12-psn-3.pcapng", "../../etc": "etc-psn-3.pcapng", "/": "psn-3.pcapng",
	} {
		if got := c.CaptureName(device); got != want {
			t.Errorf("%q: %s, want %s", device, got, want)
		}
	}
}
