package cli

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/trace/text"
)

// oneLine returns the text of err as one line that is safe to print, without the names of packages that
// the reader need not know.
func oneLine(err error) string {
	message := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	for _, name := range []string{"capture: ", "packet: ", "engine: ", "transport: ", "qp: ", "mr: ", "cm: "} {
		message = strings.ReplaceAll(strings.TrimPrefix(message, name), ": "+name, ": ")
	}
	return text.Plain(message)
}

// finalError is an error that an interruption has not caused, and does not excuse.
type finalError struct{ err error }

func (e *finalError) Error() string { return e.err.Error() }

func (e *finalError) Unwrap() error { return e.err }

// usageError is a wrong command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }

func (e *usageError) Unwrap() error { return e.err }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// listError is several errors, each of which people get a line of.
type listError struct{ err error }

func (e *listError) Error() string { return e.err.Error() }

func (e *listError) Unwrap() error { return e.err }

func (e *listError) print(a *app) {
	for _, line := range config.Lines(e.err) {
		fmt.Fprintln(a.stderr, "gorxe: "+text.Plain(line))
	}
}
