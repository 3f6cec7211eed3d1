package report_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/gorxe/gorxe/internal/browser"
)

// open opens a page in a browser, which saves downloads into the folder.
func open(t *testing.T, page, folder string) context.Context {
	t.Helper()
	file := filepath.Join(t.TempDir(), "page.html")
	must(t, os.WriteFile(file, []byte(page), 0o600))
	ctx, stop := context.WithTimeout(browser.Start(t), 2*time.Minute)
	t.Cleanup(stop)
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(1400, 900), chromedp.Navigate("file://"+file)))
	_, err := chromedp.Call(ctx, cdp.SetDownloadBehavior, cdp.SetDownloadBehaviorParams{
		Behavior: cdp.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder})
	must(t, err)
	return ctx
}

// js returns the value of an expression in the page.
func js[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// visible returns the cases of the matrix that are shown.
const visible = `[...document.querySelectorAll('.matrix tr.case')].filter(r => r.getClientRects().length)
	.map(r => r.querySelector('a').textContent).join(' ')`

func TestThePageInABrowser(t *testing.T) {
	a := sample("device A")
	folder := t.TempDir()
	ctx := open(t, page(t, a, other()), folder)
	press := func(keys ...string) {
		t.Helper()
		for _, k := range keys {
			must(t, chromedp.Do(ctx, chromedp.KeyEvent(k)))
		}
	}
	shown := func(want string) {
		t.Helper()
		if got := js[string](t, ctx, visible); got != want {
			t.Errorf("the cases %s are shown, want %s", got, want)
		}
	}
	all := js[string](t, ctx, visible)
	// The keyboard reaches the filters first.
	press(kb.Tab, " ")
	shown("psn/2 psn/3")
	press(" ", kb.Tab, " ")
	shown("psn/3")
	press(" ")
	shown(all)

	// The cells are links, and the first one of psn/3 leads to its packets.
	must(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS(`a[href="#psn-3_1"]`), chromedp.NodeVisible)))
	if !js[bool](t, ctx, `(() => {
		const r = document.querySelector(':target .ladder').getBoundingClientRect();
		return r.top >= 0 && r.top < innerHeight;
	})()`) {
		t.Error("a click at the cell does not show the packets")
	}

	// The capture is a file of its own.
	const capture = "device-A-psn-3.pcapng"
	must(t, chromedp.Do(ctx, chromedp.Click(chromedp.CSS(`a[download="`+capture+`"]`), chromedp.NodeVisible)))
	var want []byte
	for _, c := range a.Cases {
		if c.ID == "psn/3" {
			want = c.Pcapng
		}
	}
	for {
		got, err := os.ReadFile(filepath.Join(folder, capture))
		if err == nil && bytes.Equal(got, want) && len(want) > 0 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the capture is not saved: %v, %d of %d bytes", err, len(got), len(want))
		}
		js[bool](t, ctx, "true") // takes the time of a round trip
	}
}
