// Package browser starts a headless Chromium for tests of HTML pages. Without one it skips the
// test.
package browser

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/gorxe/gorxe/internal/race"
)

// programs are the names that distributions give Chromium.
var programs = []string{"chromium", "chromium-browser", "google-chrome", "headless-shell"}

// Start starts a browser, which ends after the test and its cleanups. The context is that of
// chromedp and has an empty tab.
func Start(t *testing.T) context.Context {
	t.Helper()
	if race.Enabled {
		t.Skip("what runs in the browser is not Go: the tests without the race detector look at it")
	}
	i := slices.IndexFunc(programs, func(n string) bool { _, err := exec.LookPath(n); return err == nil })
	if i < 0 {
		t.Skipf("no browser: none of %s is installed (Debian: apt-get install chromium)", strings.Join(programs, ", "))
	}
	// A sandbox needs privileges that containers and processes of root lack; the browser opens
	// only files from tests.
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(programs[i]),
		chromedp.NoSandbox, chromedp.DisableGPU)
	// The test's own context ends before its cleanups, which may query a page for errors.
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), opts...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", programs[i], err)
	}
	return ctx
}
