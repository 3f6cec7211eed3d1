package html_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorxe/gorxe/trace"
	tracehtml "github.com/gorxe/gorxe/trace/html"
)

// tab is a page in its own tab. Unless loud is set, the test fails if the page accesses the
// network or logs to the console.
type tab struct {
	testing.TB
	ctx  context.Context
	url  string
	loud bool

	mu     sync.Mutex
	noise  []string
	marked chan struct{}
}

// screen describes the display of a page.
type screen struct {
	width, height int64
	scale         float64
	dark, touch   bool
}

var (
	desktop = screen{width: 1440, height: 900, scale: 1}
	mobile  = screen{width: 390, height: 844, scale: 2, touch: true}
)

// open writes the page of packets to a file and opens it.
func open(t *testing.T, browser context.Context, s screen, title string, packets []*trace.Packet) *tab {
	t.Helper()
	return show(t, browser, s, render(t, tracehtml.Options{Title: title}, packets))
}

func show(t *testing.T, browser context.Context, s screen, page string) *tab {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trace.html")
	if err := os.WriteFile(file, []byte(page), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(browser, 5*time.Minute)
	t.Cleanup(cancel)
	ctx, end := chromedp.NewContext(ctx)
	t.Cleanup(end)
	p := &tab{TB: t, ctx: ctx, url: "file://" + file, marked: make(chan struct{}, 1)}
	if err := chromedp.Listen(ctx, p.hear); err != nil {
		t.Fatal(err)
	}
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	view := []chromedp.EmulateViewportOption{chromedp.EmulateScale(s.scale)}
	if s.touch {
		view = append(view, chromedp.EmulateMobile, chromedp.EmulateTouch, chromedp.EmulatePortrait)
	}
	p.do(chromedp.EmulateViewport(s.width, s.height, view...))
	if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	}); err != nil {
		t.Fatal(err)
	}
	p.do(chromedp.Navigate(p.url))
	t.Cleanup(p.quiet)
	return p
}

// mark is a console message of the test itself: everything logged before has then been received.
const mark = "all was heard"

func (p *tab) hear(ev any) {
	said := ""
	switch ev := ev.(type) {
	case *network.EventRequestWillBeSent:
		if u := ev.Request.URL; !strings.HasPrefix(u, p.url) && !strings.HasPrefix(u, "data:") {
			said = "request for " + u
		}
	case *runtime.EventConsoleAPICalled:
		for _, a := range ev.Args {
			said += string(a.Value)
		}
		if strings.Contains(said, mark) {
			p.marked <- struct{}{}
			return
		}
		said = "console: " + said
	case *runtime.EventExceptionThrown:
		said = fmt.Sprintf("exception: %s %v", ev.ExceptionDetails.Text, ev.ExceptionDetails.Exception)
	case *log.EventEntryAdded:
		said = "log: " + ev.Entry.Text
	}
	if said != "" {
		p.mu.Lock()
		p.noise = append(p.noise, said)
		p.mu.Unlock()
	}
}

// quiet fails the test if the page logged anything.
func (p *tab) quiet() {
	p.Helper()
	if p.loud {
		return
	}
	if p.Failed() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.Log(strings.Join(p.noise, "\n"))
		return
	}
	p.do(chromedp.Steps(void(`console.log(` + quote(mark) + `)`)))
	select {
	case <-p.marked:
	case <-p.ctx.Done():
		p.Fatal("the console says nothing at all")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.noise {
		p.Error(n)
	}
}

func (p *tab) do(a ...chromedp.Action[chromedp.Void]) {
	p.Helper()
	if err := chromedp.Do(p.ctx, a...); err != nil {
		p.Fatal(err)
	}
}

func void(expression string) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		_, err := chromedp.Evaluate[*runtime.RemoteObject](expression)(ctx, t)
		return chromedp.Void{}, err
	}
}

// js returns the value of an expression in the page, after resolving a promise.
func js[T any](p *tab, expression string, args ...any) T {
	p.Helper()
	expression = fmt.Sprintf(expression, args...)
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		p.Fatalf("%s: %v", expression, err)
	}
	return v
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

// until waits, checking every frame, until an expression is true.
func (p *tab) until(expression string, args ...any) {
	p.Helper()
	expression = fmt.Sprintf(expression, args...)
	for !js[bool](p, "%s", "new Promise(done => requestAnimationFrame(() => done(!!("+expression+"))))") {
		if p.ctx.Err() != nil {
			p.Fatalf("it never came true that %s", expression)
		}
	}
}

// press sends keys to the focused element.
func (p *tab) press(keys ...string) {
	p.Helper()
	for _, k := range keys {
		p.do(chromedp.KeyEvent(k))
	}
}

// toFilter presses the key that focuses the filter. Unlike a keyboard, the driver would enter the
// character although the page handles the key.
func (p *tab) toFilter() {
	p.Helper()
	for _, k := range kb.Encode('/') {
		if k.Type == kb.KeyChar {
			continue
		}
		if _, err := chromedp.Call(p.ctx, input.DispatchKeyEvent, *k); err != nil {
			p.Fatal(err)
		}
	}
	equal(p, "focus", js[string](p, "document.activeElement.id"), "filter")
}

func (p *tab) click(selector string) {
	p.Helper()
	p.do(chromedp.Click(chromedp.CSS(selector), chromedp.NodeVisible))
}

// metric chooses a plot.
func (p *tab) metric(id string) {
	p.Helper()
	js[bool](p, `(() => { const m = document.getElementById('metric'); m.value = %q; m.dispatchEvent(new Event('change')); return m.value === %q; })()`, id, id)
}

// brush drags over a plot, between two parts of its width.
func (p *tab) brush(selector string, from, to float64) {
	p.Helper()
	at := js[[]float64](p, `(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })()`, selector)
	y := at[1] + at[3]/2
	left := input.DispatchMouseEventParams{Type: input.DispatchMouseEventTypeMousePressed, X: at[0] + from*at[2], Y: y,
		Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1}
	for _, step := range []struct {
		kind input.DispatchMouseEventType
		part float64
	}{
		{input.DispatchMouseEventTypeMousePressed, from}, {input.DispatchMouseEventTypeMouseMoved, (from + to) / 2},
		{input.DispatchMouseEventTypeMouseMoved, to}, {input.DispatchMouseEventTypeMouseReleased, to},
	} {
		left.Type, left.X = step.kind, at[0]+step.part*at[2]
		if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, left); err != nil {
			p.Fatal(err)
		}
	}
}

// wheel turns the wheel over the middle of an element; down is positive.
func (p *tab) wheel(selector string, by float64, modifiers int64) {
	p.Helper()
	at := js[[]float64](p, `(() => { const r = document.querySelector(%q).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`, selector)
	if _, err := chromedp.Call(p.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{
		Type: input.DispatchMouseEventTypeMouseWheel, X: at[0], Y: at[1],
		DeltaX: 1e-3, DeltaY: by, Modifiers: modifiers,
	}); err != nil {
		p.Fatal(err)
	}
}

func (p *tab) text(selector string) string {
	p.Helper()
	return js[string](p, "document.querySelector(%q).textContent", selector)
}

// equal fails the test unless got equals want.
func equal[T comparable](p *tab, what string, got, want T) {
	p.Helper()
	if got != want {
		p.Errorf("%s: %v, want %v", what, got, want)
	}
}

// selected returns the heading beside the ladder, and checks that the selected row is of the same
// frame.
func (p *tab) selected() string {
	p.Helper()
	head := p.text("#details h2")
	row := js[string](p, `(() => {
		const rows = document.querySelectorAll('.row[aria-selected=true]');
		if (rows.length !== 1) return rows.length + ' rows are selected';
		if (rows[0].id !== document.getElementById('ladder').getAttribute('aria-activedescendant')) return 'another row is the active one';
		return rows[0].querySelector('.frame').textContent;
	})()`)
	if !strings.HasPrefix(head, "Frame "+row+": ") {
		p.Errorf("beside the ladder is %q, selected is row %s", head, row)
	}
	return head
}
