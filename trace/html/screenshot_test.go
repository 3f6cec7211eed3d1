package html_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorxe/gorxe/internal/browser"
	tracehtml "github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

// TestScreenshots writes screenshots of pages to the folder in GORXE_SCREENSHOTS, for visual
// checks. With GORXE_PAGE it uses that page instead of generating one.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("GORXE_SCREENSHOTS")
	if folder == "" {
		t.Skip("GORXE_SCREENSHOTS names no folder for pictures")
	}
	b := browser.Start(t)
	page := render(t, tracehtml.Options{Title: "loss.pcap"}, scene.Lossy().Packets)
	if name := os.Getenv("GORXE_PAGE"); name != "" {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		page = string(text)
	}
	dark := func(s screen) screen { s.dark = true; return s }
	wide := screen{width: 1200, height: 760, scale: 1}
	for name, c := range map[string]struct {
		screen screen
		act    func(*tab)
	}{
		"light":       {desktop, nothing},
		"dark":        {dark(desktop), nothing},
		"narrow":      {screen{width: 1024, height: 700, scale: 1}, nothing},
		"readme":      {wide, func(p *tab) { p.press(kb.Home, "r") }},
		"readme-dark": {dark(wide), func(p *tab) { p.press(kb.Home, "r") }},
		"phone":       {mobile, nothing},
		"phone-dark":  {dark(mobile), nothing},
		"phone-sheet": {mobile, func(p *tab) { p.press(kb.Enter) }},
		"facts":       {desktop, func(p *tab) { p.click("#flow-line") }},
		"help":        {desktop, func(p *tab) { p.press("?") }},
		"phone-help":  {mobile, func(p *tab) { p.press("?") }},
		"problems":    {desktop, func(p *tab) { p.click("#problems") }},
		"empty":       {desktop, func(p *tab) { p.toFilter(); p.press("nothing like this", kb.Enter) }},
		"by-packet":   {dark(desktop), func(p *tab) { p.click("#plot-axis") }},
		"plots":       {desktop, func(p *tab) { p.metric("all") }},
		"plots-dark":  {dark(desktop), func(p *tab) { p.metric("all") }},
		"rate":        {desktop, func(p *tab) { p.metric("rate") }},
		"phone-plots": {mobile, func(p *tab) { p.metric("rtt") }},
		"zoomed":      {desktop, func(p *tab) { p.brush("#plot", 0, .2) }},
		"zoomed-dark": {dark(desktop), func(p *tab) { p.brush("#plot", 0, .2); p.metric("rate") }},
		"rows-small":  {desktop, func(p *tab) { p.press("-", "-") }},
		"rows-tiny":   {dark(desktop), func(p *tab) { p.press("-", "-", "-") }},
		"rows-large":  {desktop, func(p *tab) { p.press("+") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := show(t, b, c.screen, page)
			p.press("n", "n")
			c.act(p)
			p.picture(filepath.Join(folder, name+".png"))
		})
	}
}

func nothing(*tab) {}

// TestScreenshotsOfManyConnections writes screenshots of a page of 20,000 packets of 1,000
// connections to the folder in GORXE_SCREENSHOTS.
func TestScreenshotsOfManyConnections(t *testing.T) {
	folder := os.Getenv("GORXE_SCREENSHOTS")
	if folder == "" {
		t.Skip("GORXE_SCREENSHOTS names no folder for pictures")
	}
	b := browser.Start(t)
	page := render(t, tracehtml.Options{Title: "many.pcap"}, scene.Many(25_000, 1000).Packets)
	for name, c := range map[string]struct {
		screen screen
		act    func(*tab)
	}{
		"many":       {desktop, nothing},
		"many-dark":  {screen{width: 1440, height: 900, scale: 1, dark: true}, func(p *tab) { p.metric("all") }},
		"many-phone": {mobile, func(p *tab) { p.click("#list-open") }},
		"many-list":  {screen{width: 1100, height: 800, scale: 1}, func(p *tab) { p.click("#list-open") }},
	} {
		t.Run(name, func(t *testing.T) {
			p := show(t, b, c.screen, page)
			c.act(p)
			p.picture(filepath.Join(folder, name+".png"))
		})
	}
}

// picture writes a screenshot.
func (p *tab) picture(name string) {
	p.Helper()
	p.until("true")
	p.until("true")
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.Fatal(err)
	}
	if err := os.WriteFile(name, png, 0o600); err != nil {
		p.Fatal(err)
	}
}
