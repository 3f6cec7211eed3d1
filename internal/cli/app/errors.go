package app

import (
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/trace/text"
)

// OneLine returns the text of err as one line that is safe to print, without the names of
// internal packages.
func OneLine(err error) string {
	message := strings.Join(strings.FieldsFunc(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	for _, name := range []string{"capture: ", "packet: ", "transport: ", "qp: ", "mr: ", "cm: "} {
		message = strings.ReplaceAll(strings.TrimPrefix(message, name), ": "+name, ": ")
	}
	return text.Plain(message)
}

// FinalError is an error that an interrupt did not cause: the exit code is 1 even after an
// interrupt.
type FinalError struct{ Err error }

// Error returns the text of the wrapped error.
func (e *FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *FinalError) Unwrap() error { return e.Err }

// StatusError ends the program with an exit code and without a message, because another program
// has already printed one.
type StatusError struct{ Code int }

// Error returns a text with the exit code.
func (e *StatusError) Error() string { return fmt.Sprintf("exit status %d", e.Code) }

// UsageError reports a wrong command line: the exit code is 2.
type UsageError struct{ err error }

// Error returns the text of the wrapped error.
func (e *UsageError) Error() string { return e.err.Error() }

// Unwrap returns the wrapped error.
func (e *UsageError) Unwrap() error { return e.err }

// Usagef returns a UsageError with a formatted text.
func Usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// ListError holds several joined errors. Each is printed on a separate line.
type ListError struct{ Err error }

// Error returns the text of the wrapped error.
func (e *ListError) Error() string { return e.Err.Error() }

// Unwrap returns the wrapped error.
func (e *ListError) Unwrap() error { return e.Err }

func (e *ListError) print(a *App) {
	for _, line := range config.Lines(e.Err) {
		fmt.Fprintln(a.Stderr, "gorxe: "+text.Plain(line))
	}
}
