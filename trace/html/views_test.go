package html_test

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/browser"
	"github.com/gorxe/gorxe/internal/rxetraffic"
	"github.com/gorxe/gorxe/trace"
	tracehtml "github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

func TestTheViewsInABrowser(t *testing.T) {
	b := browser.Start(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"missing packets are arrows that end midway":             testMissing,
		"a reordered packet is not missing":                      testReordered,
		"runs of MIDDLE packets are folded":                      testFolds,
		"rows are zoomed by wheel, keys and buttons":             testRowZoom,
		"an interval limits the ladder and the list":             testInterval,
		"plots show rates and states over time":                  testPlots,
		"connections are listed with the worst first":            testList,
		"a page says where packets were left out":                testLeftOut,
		"links open the details on a phone":                      testPhoneLinks,
		"several connections open at the worst problem":          testWorst,
		"each kind of problem has a button that filters it":      testKinds,
		"20,000 packets of 1,000 connections take few elements":  testLarge,
		"every filter field means what it means in a --filter":   testFields,
		"the plots and the list have names and work by keyboard": testViewKeys,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

// pageOf returns the page of a capture of package rxetraffic.
func pageOf(t *testing.T, name string) string {
	t.Helper()
	page := tracehtml.New(tracehtml.Options{Title: name})
	ofFile(t, rxetraffic.Unpack(t, name)[0])(func(k *trace.Packet) { add(t, page, k) })
	var b strings.Builder
	if _, err := page.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func testMissing(t *testing.T, b context.Context) {
	s := scene.Lossy()
	p := open(t, b, desktop, "", s.Packets)
	equal(p, "missing packets", js[int](p, "document.querySelectorAll('.row.lost').length"), 1)
	equal(p, "label", p.text(".lost .label"), "missingPSN 102")
	equal(p, "place", js[string](p, "document.querySelector('.lost').nextSibling.id"), "p5")
	equal(p, "the arrow ends between the ends, at a cross", js[bool](p, `(() => {
		const wire = document.querySelector('.lost .wire').getBoundingClientRect(), line = document.querySelector('.lost .line').getBoundingClientRect(), cross = document.querySelector('.lost .cross').getBoundingClientRect();
		return line.left < wire.left + 10 && line.right < wire.left + wire.width * .7 && Math.abs(cross.left + cross.width / 2 - line.right) < 8;
	})()`), true)
	p.press(kb.Home)
	p.click(".lost")
	equal(p, "selected by it", p.selected(), "Frame 6: WRITE LAST")
	equal(p, "packets that passed but did not arrive", js[int](p, "document.querySelectorAll('.gone').length"), 0)

	// A NAK that refers to a captured packet with its PSN says that this packet was lost later.
	nak := &s.Packets[scene.FrameNAK-1].Findings[0]
	nak.Frames = []int{5, 7}
	s.Packets[4].BTH.PSN = 102
	p = open(t, b, desktop, "", s.Packets)
	equal(p, "packets that passed but did not arrive", js[string](p,
		"[...document.querySelectorAll('.gone')].map(e => e.id).join()"), "p4")
	p.click("#p4")
	if pane := p.text("#details"); !strings.Contains(pane, "lost after the capture point") {
		t.Errorf("the details do not say so: %s", pane)
	}
	name := js[string](p, "document.getElementById('p4').getAttribute('aria-label')")
	if !strings.Contains(name, "did not arrive") {
		t.Errorf("the name of the row is %q", name)
	}
}

func testReordered(t *testing.T, b context.Context) {
	s := scene.New()
	f := s.Flow(bth.ServiceRC, trace.End{Addr: longAddrs[0], QPN: 1}, trace.End{Addr: longAddrs[1], QPN: 2})
	for _, psn := range []bth.PSN{bth.MaxPSN - 1, 3, 1} {
		s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCSendOnly, PSN: psn}, "")
	}
	gap := &s.Packets[1].Findings
	*gap = append(*gap, trace.Finding{Kind: trace.Gap, Level: trace.Warning, Text: "missing",
		Frames: []int{1, 2}, PSN: bth.MaxPSN, PSNs: 4})
	p := open(t, b, desktop, "", s.Packets)
	equal(p, "missing", p.text(".lost .label"), "4 × missingPSN 16777215–2")
	warn(s.Packets[2], trace.Reordered, trace.Warning, 2, 3)
	p = open(t, b, desktop, "", s.Packets)
	equal(p, "missing without the late one",
		js[string](p, "[...document.querySelectorAll('.lost .label')].map(e => e.textContent).join()"),
		"2 × missingPSN 16777215–0,missingPSN 2")
}

func testFolds(t *testing.T, b context.Context) {
	s := scene.Many(27, 1) // three WRITEs of 8 packets, 6 of them MIDDLE, and their ACKs; lessons are in the first
	p := open(t, b, desktop, "", s.Packets)
	const folds = `document.querySelectorAll('.fold').length`
	folded, runs := js[int](p, ladderRows), js[int](p, folds)
	if label := p.text("#p19"); !strings.Contains(label, "▸ 6 × WRITE MIDDLE") ||
		!strings.Contains(label, "to frame 25, 384 bytes of payload") {
		t.Errorf("the run says %q", label)
	}
	equal(p, "count", p.text("#count"), "27 packets")
	p.click("#p19")
	equal(p, "rows after a click", js[int](p, ladderRows), folded+5)
	equal(p, "selected", p.selected(), "Frame 20: WRITE MIDDLE")
	p.click(".fold.open")
	equal(p, "rows after another click", js[int](p, ladderRows), folded)
	p.press(kb.End, kb.ArrowUp, kb.ArrowUp)
	equal(p, "the run is one step", p.selected(), "Frame 20: WRITE MIDDLE")
	p.press(kb.ArrowUp)
	equal(p, "before the run", p.selected(), "Frame 19: WRITE FIRST")
	p.press(kb.ArrowDown, kb.ArrowRight, kb.ArrowDown)
	equal(p, "in the open run", p.selected(), "Frame 21: WRITE MIDDLE")
	p.press(kb.ArrowLeft)
	equal(p, "folded again", js[int](p, ladderRows), folded)
	equal(p, "the run is selected", p.selected(), "Frame 20: WRITE MIDDLE")
	p.press(kb.Enter)
	equal(p, "opened by Enter", js[int](p, ladderRows), folded+5)
	js[bool](p, "(location.hash = '#frame-13') !== ''")
	p.until("document.querySelector('#details h2').textContent === 'Frame 13: WRITE MIDDLE'")
	equal(p, "a link into a run opens it", p.selected(), "Frame 13: WRITE MIDDLE")

	// A packet with a finding is in no run.
	warn(s.Packets[21], trace.Duplicate, trace.Warning, 22)
	p = open(t, b, desktop, "", s.Packets)
	equal(p, "runs without a packet that has a finding", js[int](p, folds), runs-1)
}

func testRowZoom(t *testing.T, b context.Context) {
	p := show(t, b, desktop, pageOf(t, "loss_write"))
	p.press("n", "n", "n", "n")
	height := func() int { return js[int](p, "document.querySelector('[aria-selected=true]').offsetHeight") }
	inSight := func(when string) {
		t.Helper()
		equal(p, "the selected row is in sight "+when, js[bool](p, `(() => {
			const r = document.querySelector('[aria-selected=true]').getBoundingClientRect(), s = document.getElementById('scroll').getBoundingClientRect();
			return r.top >= s.top && r.bottom <= s.bottom;
		})()`), true)
	}
	normal, rows := height(), js[int](p, ladderRows)
	p.press("-", "-")
	inSight("in small rows")
	if h, n := height(), js[int](p, ladderRows); h >= normal/2 || n <= rows {
		t.Errorf("rows of %d pixels, %d of them, before %d and %d", h, n, normal, rows)
	}
	equal(p, "labels that leave their rows", js[int](p, `[...document.querySelectorAll('.row[id]')].filter(r => r.querySelector('.label').getBoundingClientRect().bottom > r.getBoundingClientRect().bottom + 2).length`), 0)
	p.press("-")
	equal(p, "no smaller rows", js[bool](p, "document.getElementById('zoom-out').disabled"), true)
	inSight("in the smallest rows")
	p.press("0")
	equal(p, "normal", height(), normal)
	p.wheel("#scroll", -100, int64(2)) // Ctrl
	p.until("document.querySelector('[aria-selected=true]').offsetHeight > %d", normal)
	inSight("in large rows")
	p.click("#zoom-out")
	equal(p, "normal", height(), normal)
	before := js[int](p, "document.getElementById('scroll').scrollTop")
	p.wheel("#scroll", 100, 0)
	p.until("document.getElementById('scroll').scrollTop > %d", before)
	equal(p, "the wheel alone scrolls", js[int](p, "document.querySelector('.row[id]').offsetHeight"), normal)
}

const intervalShown = "!document.getElementById('interval').hidden"

func testInterval(t *testing.T, b context.Context) {
	p := show(t, b, desktop, pageOf(t, "loss_write"))
	all := p.text("#count")
	equal(p, "all", all, "480 packets")
	inside := func(what string) (from, to int) {
		t.Helper()
		p.until(intervalShown)
		p.until("document.getElementById('count').textContent.endsWith(' of 480 packets')")
		times := js[[]float64](p,
			`[...document.querySelectorAll('.row[role=option] .time')].map(e => Number(e.textContent))`)
		if len(times) == 0 {
			t.Errorf("%s: no rows", what)
			return 0, 0
		}
		return int(times[0] * 1e6), int(times[len(times)-1] * 1e6) // of visible rows, in microseconds
	}
	p.brush("#plot", .25, .5)
	from, to := inside("brush")
	// The plot begins at 58 pixels and is about 45.6 ms long.
	if from < 8_000 || from > 11_000 || to > 24_000 {
		t.Errorf("the brush leaves packets from %d to %d µs", from, to)
	}
	n := p.text("#count")
	js[bool](p, `(() => {
		[...document.querySelectorAll('.row[role=option]:not(.fold)')].at(-1).click(); // the first ones leave the interval
		window.kept = [document.querySelector('#details h2'), document.querySelector('.row[aria-selected=true]')];
		return true;
	})()`)
	p.wheel("#plot", -100, 0)
	p.until("document.getElementById('count').textContent !== %q", n)
	equal(p, "elements of the selected packet are kept", js[bool](p, "window.kept.every(e => e.isConnected)"), true)
	equal(p, "the number of the selected row", js[bool](p, `(() => {
		const rows = [...document.querySelectorAll('.row[role=option]')];
		return rows.every(e => e.getAttribute('aria-setsize') === document.getElementById('count').textContent.split(' ')[0]) &&
			rows.every((e, i) => !i || Number(e.getAttribute('aria-posinset')) > Number(rows[i - 1].getAttribute('aria-posinset')));
	})()`), true)
	n = p.text("#count")
	p.wheel("#plot", 100, 0)
	p.until("document.getElementById('count').textContent !== %q", n)
	p.click("#interval")
	p.until("document.getElementById('count').textContent === %q", all)

	p.metric("rate")
	p.brush("#chart-rate", .5, .75)
	if from, _ := inside("brush of a chart"); from < 18_000 || from > 25_000 {
		t.Errorf("the brush of the chart leaves packets from %d µs", from)
	}
	label := js[string](p, "document.getElementById('chart-rate').getAttribute('aria-label')")
	if !strings.Contains(label, "Throughput and goodput, connection 1, 2") || !strings.Contains(label, "bit/s") {
		t.Errorf("the chart is named %q", label)
	}
	p.metric("psn")
	p.press(kb.Escape) // the ladder has the focus
	js[bool](p, "document.getElementById('ladder').focus() || true")
	p.press(kb.Escape)
	p.until("document.getElementById('count').textContent === %q", all)

	js[bool](p, "document.getElementById('plot').focus() || true")
	p.press("+", "+")
	p.until(intervalShown)
	first := p.text("#interval")
	p.press(kb.ArrowRight)
	p.until("document.getElementById('interval').textContent !== %q", first)
	p.press("-", "-", "-")
	p.until("document.getElementById('count').textContent === %q", all)
	p.click("#time-in")
	p.until(intervalShown)
	equal(p, "the selected packet stays", js[int](p, "document.querySelectorAll('[aria-selected=true].row').length"), 1)
	// A link to a packet outside the interval shows all times.
	js[bool](p, "(location.hash = '#frame-499') !== ''")
	p.until("document.querySelector('#details h2').textContent.startsWith('Frame 499:')")
	p.until("document.getElementById('count').textContent === %q", all)
	// By packet, the brush takes the times of the packets.
	p.click("#plot-axis")
	p.brush("#plot", .5, .75)
	inside("brush by packet")
}

func testPlots(t *testing.T, b context.Context) {
	s := scene.Many(4000, 3)
	for i, k := range s.Packets {
		k.Delivered, k.InFlight, k.Outstanding = k.PayloadLen(), i%9, i%3
		if k.Role == trace.Ack {
			k.RTT = 7 * time.Microsecond
		}
		if i%7 == 0 {
			k.IP.TrafficClass |= 3
		}
	}
	s.Packet(s.Flows[2], 1, trace.CNP, bth.Packet{Opcode: bth.CNP}, "")
	p := open(t, b, desktop, "", s.Packets)
	equal(p, "choices", js[int](p, "document.getElementById('metric').options.length"), 9)
	p.metric("all")
	equal(p, "charts", js[int](p, "document.querySelectorAll('.chart').length"), 7)
	equal(p, "the plot of PSNs", js[bool](p, "document.getElementById('plot').hidden"), true)
	has := func(id, colour string) {
		t.Helper()
		p.until("%s(%q)", strings.Replace(inked, "getElementById('plot')", "getElementById('chart-"+id+"')", 1), colour)
	}
	for _, c := range [][3]string{
		{"rate", "response", "bit/s"}, {"flight", "request", "maximum 2"}, {"outstanding", "request", "maximum"},
		{"again", "again", "per "},
		{"rtt", "response", "maximum 7 µs"}, {"cnp", "cnp", "maximum 1"}, {"ce", "cnp", " %"},
	} {
		has(c[0], c[1])
		label := js[string](p, "document.getElementById('chart-%s').getAttribute('aria-label')", c[0])
		if !strings.Contains(label, c[2]) || !strings.Contains(label, "all connections") {
			t.Errorf("chart %s is named %q, want %q in it", c[0], label, c[2])
		}
	}
	// Charts follow the connection.
	js[bool](p, `(() => { const f = document.getElementById('flows'); f.value = '0'; f.dispatchEvent(new Event('change')); return true; })()`)
	label := js[string](p, "document.getElementById('chart-cnp').getAttribute('aria-label')")
	if !strings.HasSuffix(label, "maximum none") || !strings.Contains(label, "connection 1,") {
		t.Errorf("the CNPs of the first connection are named %q", label)
	}
	at := js[[]float64](p, `(() => { const r = document.getElementById('chart-rate').getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	p.until("!document.getElementById('tip').hidden")
	if tip := p.text("#tip"); !strings.Contains(tip, "throughput") || !strings.Contains(tip, "goodput") {
		t.Errorf("the hint is %q", tip)
	}
	p.metric("psn")
	equal(p, "charts", js[int](p, "document.querySelectorAll('.chart').length"), 0)
	equal(p, "the plot of PSNs", js[bool](p, "document.getElementById('plot').hidden"), false)
}

func testList(t *testing.T, b context.Context) {
	s := scene.Many(3000, 40)
	s.Flows[30].Err = "remote access error in frame 7"
	s.Flows[20].Timeouts += 9
	p := open(t, b, desktop, "", s.Packets)
	equal(p, "order of the choices", js[string](p,
		"[...document.getElementById('flows').options].slice(1, 3).map(o => o.textContent.split(' ·')[0]).join()"),
		"✕ 31,▲ 21")
	p.until("document.querySelectorAll('.connection').length > 5") // wide screens show it for many connections
	equal(p, "the first", p.text("#list-rows .connection:nth-child(2) b"), "31 · RC")
	equal(p, "the second", p.text("#list-rows .connection:nth-child(3) b"), "21 · RC")
	equal(p, "count", p.text("#list-count"), "40 connections, worst first")
	if why := p.text("#c30"); !strings.Contains(why, "remote access error in frame 7") {
		t.Errorf("the failed connection says %q", why)
	}
	p.click("#c20")
	equal(p, "chosen", js[string](p, "document.getElementById('flows').value"), "20")
	equal(p, "marked", js[string](p, "document.getElementById('c20').getAttribute('aria-selected')"), "true")
	p.click("#c-1")
	equal(p, "all again", js[string](p, "document.getElementById('flows').value"), "-1")
	// The interval limits the list: in a short one few connections have packets.
	p.brush("#plot", .3, .34)
	p.until(intervalShown)
	p.until("/^\\d+ connections? of 40, worst first$/.test(document.getElementById('list-count').textContent)")
	p.click("#interval")
	p.until("document.getElementById('list-count').textContent === '40 connections, worst first'")
	// So does the filter.
	p.toFilter()
	p.press("again", kb.Enter)
	p.until("/^\\d+ connections? of 40/.test(document.getElementById('list-count').textContent)")
	p.click("#list-close")
	equal(p, "closed", js[bool](p, "document.getElementById('list').hidden"), true)
	equal(p, "focus", js[string](p, "document.activeElement.id"), "ladder")
}

func testWorst(t *testing.T, b context.Context) {
	s := scene.Many(3000, 40)
	f := s.Flows[20]
	f.Timeouts += 9
	of := func(n int) *trace.Packet { // the nth packet of f
		for _, k := range s.Packets {
			if k.Flow == f {
				if n--; n == 0 {
					return k
				}
			}
		}
		t.Fatal("the flow has too few packets")
		return nil
	}
	mark, gap := of(2), of(5)
	warn(mark, trace.ECNMarked, trace.Warning)
	warn(gap, trace.Gap, trace.Warning)
	frame := func(k *trace.Packet) string { return "Frame " + strconv.Itoa(k.Number) + ":" }
	opens := func(what, at string) {
		t.Helper()
		if got := open(t, b, desktop, "", s.Packets).selected(); !strings.HasPrefix(got, at) {
			t.Errorf("%s: it opens at %q, want %q", what, got, at)
		}
	}
	opens("a loss in the worst connection", frame(gap))
	other := s.Packets[len(s.Packets)-1]
	warn(other, trace.ErrorNAK, trace.Error)
	opens("an error in another connection", frame(other))
}

func testKinds(t *testing.T, b context.Context) {
	s := quietly(5000)
	warn(s.Packets[3999], trace.ErrorNAK, trace.Error)
	for _, i := range []int{1000, 2000, 3000} {
		warn(s.Packets[i], trace.Gap, trace.Warning)
	}
	p := show(t, b, desktop, render(t, tracehtml.Options{Max: 500}, s.Packets))
	equal(p, "kinds", js[string](p,
		"[...document.querySelectorAll('#kinds button')].map(e => e.textContent).join()"),
		"✕ 1 nak_error,▲ 3 gap")
	p.click("#kinds .warning")
	equal(p, "filter", js[string](p, "document.getElementById('filter').value"), "finding gap")
	equal(p, "count", p.text("#count"), "3 of 500 packets")
	equal(p, "pressed", js[string](p,
		"[...document.querySelectorAll('#kinds button')].map(e => e.getAttribute('aria-pressed')).join()"),
		"false,true")
	p.click("#kinds .warning")
	equal(p, "count", p.text("#count"), "500 packets")
	p = open(t, b, desktop, "", quietly(10).Packets)
	equal(p, "no kinds", js[bool](p, "document.getElementById('kinds').hidden"), true)
}

func testViewKeys(t *testing.T, b context.Context) {
	p := open(t, b, screen{width: 1000, height: 800, scale: 1}, "", scene.Many(3000, 40).Packets)
	equal(p, "the list on a small screen", js[bool](p, "document.getElementById('list').hidden"), true)
	p.click("#list-open")
	equal(p, "focus", js[string](p, "document.activeElement.id"), "list-rows")
	p.press(kb.ArrowDown, kb.ArrowDown)
	active := js[string](p, "document.getElementById('list-rows').getAttribute('aria-activedescendant')")
	p.press(kb.Enter)
	equal(p, "chosen", js[string](p, "'c' + document.getElementById('flows').value"), active)
	p.press(kb.End)
	equal(p, "the last row is in sight", js[bool](p, `(() => {
		const r = document.getElementById(document.getElementById('list-rows').getAttribute('aria-activedescendant')).getBoundingClientRect(), s = document.getElementById('list-scroll').getBoundingClientRect();
		return r.top >= s.top - 1 && r.bottom <= s.bottom + 1;
	})()`), true)
	p.press(kb.Escape)
	equal(p, "closed", js[bool](p, "document.getElementById('list').hidden"), true)
	p.metric("all")
	equal(p, "elements without a name", js[string](p, `[...document.querySelectorAll('canvas, [role=listbox], [role=option], button, select, input, aside')].filter(e => !e.hidden && !(e.getAttribute('aria-label') || e.getAttribute('aria-labelledby') || e.textContent.trim())).map(e => e.outerHTML).join()`), "")
	equal(p, "charts without the keyboard", js[int](p,
		"[...document.querySelectorAll('canvas.chart')].filter(e => e.tabIndex !== 0).length"), 0)
	equal(p, "duplicate ids", js[string](p, `(() => { const ids = [...document.querySelectorAll('[id]')].map(e => e.id); return ids.filter((x, i) => ids.indexOf(x) !== i).join(); })()`), "")
}

func testLeftOut(t *testing.T, b context.Context) {
	s := quietly(5000)
	warn(s.Packets[3999], trace.AfterTimeout, trace.Warning, 4000)
	p := show(t, b, desktop, render(t, tracehtml.Options{Max: 500}, s.Packets))
	if sum := p.text("#summary"); !strings.Contains(sum, "4,500 more packets are not on this page") {
		t.Errorf("the summary is %q", sum)
	}
	equal(p, "it opens at the problem", p.selected(), "Frame 4000: WRITE MIDDLE")
	rows := js[[]string](p, "[...document.querySelectorAll('.left-out .wire')].map(e => e.textContent)")
	if len(rows) == 0 || !strings.HasSuffix(rows[0], "not on this page") {
		t.Errorf("rows around the problem: %q", rows)
	}
	p.press(kb.End)
	p.until("document.querySelectorAll('.left-out').length > 0")
	p.until("[...document.querySelectorAll('.row')].at(-1).matches('.left-out')")
	// The rows of what was left out add up, in the whole ladder and in that of a connection.
	p.press("-", "-", "-")
	sum := func() int {
		return js[int](p, `(async () => {
			const scroll = document.getElementById('scroll'), seen = new Map();
			for (let top = 0; top <= scroll.scrollHeight; top += 100) {
				scroll.scrollTop = top;
				await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
				for (const e of document.querySelectorAll('.left-out')) seen.set(e.style.top, Number(e.querySelector('.wire').textContent.replace(/,/g, '').split(' ')[0]));
			}
			return [...seen.values()].reduce((a, b) => a + b, 0);
		})()`)
	}
	equal(p, "left out in all", sum(), 4500)
	js[bool](p, `(() => { const f = document.getElementById('flows'); f.value = '1'; f.dispatchEvent(new Event('change')); return true; })()`)
	of := js[int](p, "Number(document.getElementById('count').textContent.split(' ')[0])")
	equal(p, "left out of a connection", sum(), 2500-of)
}

func testPhoneLinks(t *testing.T, b context.Context) {
	p := open(t, b, mobile, "", scene.Lossy().Packets)
	const sheet = "getComputedStyle(document.getElementById('details')).display"
	equal(p, "sheet at first", js[string](p, sheet), "none")
	js[bool](p, "(location.hash = '#frame-9') !== ''")
	p.until(sheet + " === 'block'")
	equal(p, "selected", p.selected(), "Frame 9: WRITE LAST")
	js[bool](p,
		`[...document.querySelectorAll('#details .link')].find(e => e.textContent === 'frame 7').click() || true`)
	equal(p, "after a link", p.selected(), "Frame 7: NAK PSN sequence error")
	equal(p, "sheet", js[string](p, sheet), "block")
	p.until("location.hash === '#frame-7'")
	p.do(chromedp.Reload())
	p.until(sheet + " === 'block'")
	equal(p, "by the address", p.selected(), "Frame 7: NAK PSN sequence error")
	p.click("#details .close")
	equal(p, "closed", js[string](p, sheet), "none")
	// A point of the plot opens the details, too.
	p.click("#plot")
	p.metric("rate")
	equal(p, "width with a chart", js[int](p, "document.documentElement.scrollWidth"), int(mobile.width))
}

func testLarge(t *testing.T, b context.Context) {
	s := scene.Many(20_000, 1000)
	for i, f := range s.Flows {
		f.Ends[1].Addr = netip.AddrFrom4([4]byte{198, 51, byte(i / 250), byte(1 + i%250)})
	}
	text := render(t, tracehtml.Options{Title: "large"}, s.Packets[:20_000])
	begin := time.Now()
	p := show(t, b, desktop, text)
	p.until(ladderRows + " > 0")
	t.Logf("page of %d bytes; loaded and drawn after %v", len(text), time.Since(begin).Round(time.Millisecond))
	const most = 1600
	elements := func(when string) {
		t.Helper()
		n := js[int](p, "document.querySelectorAll('*').length")
		if n > most {
			t.Errorf("%s: %d elements, more than %d", when, n, most)
		}
		t.Logf("%s: %d elements", when, n)
	}
	elements("at first")
	measure := func(what, script string) {
		t.Helper()
		t.Logf("%s: %.1f ms", what, js[float64](p, `(async () => {
			const frame = () => new Promise(done => requestAnimationFrame(done)), begin = performance.now();
			%s
			return performance.now() - begin;
		})()`, script))
	}
	measure("50 steps of scrolling",
		`for (let i = 1; i <= 50; i++) { document.getElementById('scroll').scrollTop = i * 10000; await frame(); }`)
	elements("scrolled")
	measure("50 steps of scrolling the list", `for (let i = 1; i <= 50; i++) { document.getElementById('list-scroll').scrollTop = i * 1000; await frame(); }`)
	elements("list scrolled")
	// A step takes from the frame that it is drawn in until the page is idle.
	steps := js[[]float64](p, `(async () => {
		const c = document.getElementById('plot'), r = c.getBoundingClientRect(), took = [];
		const idle = () => new Promise(done => { const c = new MessageChannel(); c.port1.onmessage = done; c.port2.postMessage(0); });
		for (let i = 0; i < 20; i++) {
			let begin = 0;
			requestAnimationFrame(() => { begin = performance.now(); });
			c.dispatchEvent(new WheelEvent('wheel', { deltaY: i & 1 ? 100 : -100, clientX: r.x + r.width / 2, clientY: r.y + 50, cancelable: true }));
			await new Promise(done => requestAnimationFrame(done));
			await idle();
			took.push(performance.now() - begin);
		}
		return took;
	})()`)
	slices.Sort(steps)
	t.Logf("a step of the wheel over a plot: median %.1f ms, maximum %.1f ms", steps[len(steps)/2], steps[len(steps)-1])
	p.wheel("#plot", -100, 0)
	p.until(intervalShown)
	p.click("#interval")
	measure("a filter", `const f = document.getElementById('filter'); f.value = 'not psn 5 and addr 192.0.2.0/24 and len > 5'; f.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' })); await frame();`)
	p.until("document.getElementById('count').textContent.startsWith('20,000 packets') || document.getElementById('count').textContent.includes(' of 20,000 packets')")
	p.press(kb.Escape)
	p.metric("all")
	elements("all plots")
	p.press(kb.End)
	if last := p.selected(); !strings.HasPrefix(last, "Frame 20000: ") {
		t.Errorf("the last one is %s", last)
	}
	if os.Getenv("GORXE_SCREENSHOTS") != "" {
		p.picture(os.Getenv("GORXE_SCREENSHOTS") + "/large.png")
	}
}
