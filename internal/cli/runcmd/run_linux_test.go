//go:build linux && (amd64 || arm64)

package runcmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
)

func TestAProgramThatDoesNotStartHasTheExitStatusOfAShell(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(data, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]int{
		"no-such-program": 127, "/nonexistent/program": 127, data: 126, "/": 126,
	} {
		var out bytes.Buffer
		var status *app.StatusError
		err := run(t.Context(), &app.App{Stderr: &out}, &params{}, []string{program})
		if !errors.As(err, &status) || status.Code != want || !strings.HasPrefix(out.String(), "gorxe: exec: ") {
			t.Errorf("%s: %v, printed %q, want the status %d", program, err, &out, want)
		}
	}
}
