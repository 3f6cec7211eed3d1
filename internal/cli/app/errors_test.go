package app

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
)

func TestOneLineOfAJoinedError(t *testing.T) {
	err := Usagef("eth0: %w\n%w", errTest, errTest)
	if got := OneLine(err); got != "eth0: test; test" {
		t.Errorf("got %q", got)
	}
}

// Names of interfaces and regions in an error may come from a file.
func TestTextFromElsewhereIsPrintedWithoutControlCharacters(t *testing.T) {
	const hostile, plain = "e\x1b]0;owned\a\u202eth", "e\ufffd]0;owned\ufffd\ufffdth"
	if got := OneLine(fmt.Errorf("interface %s: no such device", hostile)); got != "interface "+plain+
		": no such device" {
		t.Errorf("an error is printed as %q", got)
	}
	var errs bytes.Buffer
	a := &App{Stderr: &errs}
	(&ListError{fmt.Errorf("interface %s: no such device", hostile)}).print(a)
	if want := "gorxe: interface " + plain + ": no such device\n"; errs.String() != want {
		t.Errorf("a list of errors is printed as %q", errs.String())
	}
}

var errTest = errors.New("test")
