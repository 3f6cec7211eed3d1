package html_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/browser"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

func TestThePageInABrowser(t *testing.T) {
	b := browser.Start(t)
	for name, test := range map[string]func(*testing.T, context.Context){
		"it shows the ladder, the plot and the first packet": testItRenders,
		"a packet that is clicked is explained":              testSelection,
		"keys go through the packets":                        testKeys,
		"the filter leaves what fits":                        testFilter,
		"connections are shown one by one":                   testConnections,
		"hostile text is shown as text":                      testHostile,
		"nothing else may run or be fetched":                 testPolicy,
		"ten thousand packets take few elements":             testManyPackets,
		"it fits a phone":                                    testPhone,
		"everything has a name for those who do not see it":  testNames,
		"strange captures are shown":                         testStrange,
	} {
		t.Run(name, func(t *testing.T) { test(t, b) })
	}
}

const ladderRows = `document.querySelectorAll('.row[role=option]').length`

// inked is a script that reports whether the plot has a pixel of a colour of the style sheet.
const inked = `(name => {
	const plot = document.getElementById('plot'), c = document.createElement('canvas'), g = c.getContext('2d', { willReadFrequently: true });
	c.width = plot.width;
	c.height = plot.height;
	g.drawImage(plot, 0, 0);
	const d = g.getImageData(0, 0, c.width, c.height).data;
	const hex = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
	const want = [1, 3, 5].map(i => parseInt(hex.slice(i, i + 2), 16));
	for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255 && want.every((v, k) => d[i + k] === v)) return true;
	return false;
})`

func testItRenders(t *testing.T, b context.Context) {
	p := open(t, b, desktop, "loss.pcap", scene.Lossy().Packets)
	equal(p, "title", js[string](p, "document.title"), "loss.pcap · gorxe trace")
	p.until("%s === %d", ladderRows, scene.LossyFrames)
	equal(p, "count", p.text("#count"), "22 packets")
	equal(p, "left", p.text("#end-0"), "192.0.2.1QP 0x000011")
	equal(p, "right", p.text("#end-1"), "192.0.2.2QP 0x00002a")
	equal(p, "selected is the first problem", p.selected(), "Frame 6: WRITE LAST")
	p.press(kb.Home)
	equal(p, "selected", p.selected(), "Frame 1: CM REQ")
	equal(p, "connection", p.text("#flow-line"), "RC connection 1 · remote access error in frame 20 · 2 NAKs · 1 RNR NAK · 1 lost before the capture point · 3 packets retransmitted · 4 messages")
	for _, c := range []string{"request", "response", "again", "error"} {
		p.until("%s(%q)", inked, c)
	}
	if js[bool](p, "%s('cnp')", inked) {
		t.Error("the plot has a colour that no packet has: the check of colours finds anything")
	}
	if pane := p.text("#details"); !strings.Contains(pane, "REQ: connection request") ||
		!strings.Contains(pane, "next lesson: frame 2") {
		t.Errorf("the first packet has no lesson: %s", pane)
	}
	for selector, want := range map[string]string{
		"#p3 .label": "WRITE FIRST", "#p5 .label": "WRITE LASTPSN 103 · 1024 B", "#p6 .label": "NAK PSN sequence error",
		"#p8 .label": "↻ WRITE LAST", "#p19 .label": "✕ ",
	} {
		if got := p.text(selector); !strings.Contains(got, want) {
			t.Errorf("%s is %q, want %q in it", selector, got, want)
		}
	}
	equal(p, "request goes right", js[bool](p, `document.querySelector('#p3 .wire').matches('.right')`), true)
	equal(p, "acknowledgement goes left", js[bool](p, `document.querySelector('#p6 .wire').matches('.left')`), true)
	equal(p, "pauses", js[int](p, `document.querySelectorAll('.pause').length`), 3)
}

func testSelection(t *testing.T, b context.Context) {
	p := open(t, b, desktop, "", scene.Lossy().Packets)
	p.click("#p5")
	equal(p, "selected", p.selected(), "Frame 6: WRITE LAST")
	pane := p.text("#details")
	for _, want := range []string{
		"packet 4 of 4 of the WRITE, asks for an acknowledgement",
		"Warning: PSN 102 is missing: the packet before was 101.", "frame 5",
		"retransmitted in frame 9", "Message 1: RDMA WRITE", "4 packets, 2 retransmitted", "wr_id 1 success",
		"2026-03-14 15:09:26.5361", "0x08 RC_RDMA_WRITE_LAST", "right",
	} {
		if !strings.Contains(pane, want) {
			t.Errorf("%q is not beside the packet: %s", want, pane)
		}
	}
	equal(p, "rows of the same message", js[int](p, `document.querySelectorAll('.row.same').length`), 5)
	js[bool](p, `[...document.querySelectorAll('#details .link')].find(e => e.textContent === 'retransmitted in frame 9').click() || true`)
	equal(p, "after the link", p.selected(), "Frame 9: WRITE LAST")
	p.until("location.hash === '#frame-9'")

	at := js[[]float64](p, `(() => { const r = document.getElementById('plot').getBoundingClientRect(); return [r.x + r.width - 10, r.y + 8]; })()`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0], at[1]))
	equal(p, "hint", p.text("#tip"), "#20  NAK remote access error 108, 0.001008 s: refuses: remote access error")
	p.do(chromedp.MouseClickXY(at[0], at[1]))
	equal(p, "nearest to the last point of the plot", p.selected(), "Frame 20: NAK remote access error")
	js[bool](p, "(location.hash = '#frame-16') !== ''")
	p.do(chromedp.Reload())
	equal(p, "by the address", p.selected(), "Frame 16: RNR NAK timer 12")
}

func testKeys(t *testing.T, b context.Context) {
	p := open(t, b, desktop, "", scene.Lossy().Packets)
	for _, c := range []struct{ key, want string }{
		{kb.Home, "Frame 1: CM REQ"},
		{kb.ArrowDown, "Frame 2: CM REP"},
		{"j", "Frame 3: CM RTU"},
		{kb.ArrowUp, "Frame 2: CM REP"},
		{"n", "Frame 6: WRITE LAST"},
		{"n", "Frame 7: NAK PSN sequence error"},
		{"N", "Frame 6: WRITE LAST"},
		{"r", "Frame 8: WRITE MIDDLE"},
		{"R", "Frame 17: SEND ONLY + IMM"},
		{kb.End, "Frame 22: CM DREP"},
		{kb.ArrowDown, "Frame 22: CM DREP"},
		{"n", "Frame 6: WRITE LAST"},
		{kb.Home, "Frame 1: CM REQ"},
		{"l", "Frame 2: CM REP"},
		{"L", "Frame 1: CM REQ"},
		{kb.ArrowUp, "Frame 1: CM REQ"},
	} {
		p.press(c.key)
		equal(p, "after "+quote(c.key), p.selected(), c.want)
	}
	p.press(kb.PageDown)
	if at := p.selected(); at == "Frame 1: CM REQ" {
		t.Error("PageDown does nothing")
	}
	p.press(kb.Home, "n", "m")
	equal(p, "only this message", p.text("#count"), "6 of 22 packets")
	p.press(kb.Escape)
	equal(p, "after Escape", p.text("#count"), "22 packets")
	p.toFilter()
	p.press("x")
	p.press(kb.Escape)
	equal(p, "focus", js[string](p, "document.activeElement.id"), "ladder")
	p.press("?")
	equal(p, "help", js[bool](p, "document.getElementById('help').open"), true)
	p.press(kb.Escape)
	equal(p, "help", js[bool](p, "document.getElementById('help').open"), false)
	equal(p, "filter", js[string](p, "document.getElementById('filter').value"), "")

	js[bool](p, "document.activeElement.blur() || true")
	p.press(kb.End)
	equal(p, "without a focus", p.selected(), "Frame 22: CM DREP")
	// Keys keep their usual meaning in other elements.
	js[bool](p, "document.getElementById('again').focus() || true")
	p.press("n", kb.Home)
	equal(p, "keys for a button", p.selected(), "Frame 22: CM DREP")
}

func testFilter(t *testing.T, b context.Context) {
	p := open(t, b, desktop, "", scene.Lossy().Packets)
	for _, c := range []struct {
		filter string
		n      int
	}{
		{"psn 103", 3}, {"psn == 103", 3}, {"psn 104..106", 4}, {"psn 0x66..0x67", 5},
		{"infiniband.bth.psn >= 107 and not cm", 6},
		{"psn 107..100 and not cm", 7}, {"frame 1..3", 3}, {"frame in {1, 3, 20..22}", 5},
		{"frame.number < 4", 3}, {"op write", 5}, {"op read", 1},
		{"op read_response", 3}, {"opcode 0x11", 5}, {"opcode 17", 5}, {"opcode RC_ACKNOWLEDGE", 5}, {"cm", 5},
		{"not cm", 17}, {"!cm && !ack", 12},
		{"error", 3}, {"nak", 3}, {"again", 3}, {"finding", 8}, {"finding rnr_nak", 1},
		{"finding == gap or finding == icrc_wrong", 1},
		{"addr 192.0.2.1", 22}, {"src 192.0.2.1 and ack", 0}, {"addr 10.0.0.1", 0}, {"qp 0x2a", 22}, {"message 2", 4},
		{"message != 2", 11}, {"message", 15},
		{"verb SEND", 3}, {"flow 1", 22}, {"flow 2", 0}, {"service ud", 5}, {"len 20", 5}, {"len > 1000", 8},
		{"outbound", 12}, {"inbound or outbound", 22},
		{"refuses", 1}, {`"remote access"`, 1}, {"ACKNOWLEDGES psn 107", 1}, {"(cm or ack) frame 1..7", 4},
		{"constructor", 0}, {"", 22},
	} {
		js[bool](p, `(() => { const f = document.getElementById('filter'); f.value = %s; f.dispatchEvent(new Event('input')); return true; })()`, quote(c.filter))
		want := "22 packets"
		if c.n != scene.LossyFrames {
			want = js[string](p, "'%d of 22 packets'", c.n)
		}
		p.until("document.getElementById('count').textContent === %q", want)
		equal(p, "rows with "+c.filter, js[int](p, ladderRows), c.n)
		equal(p, "said that none fits, with "+c.filter,
			js[bool](p, "!document.getElementById('none').hidden"), c.n == 0)
	}
	for bad, why := range map[string]string{
		"psn x": `psn: "x" is not a number: write for example 100..200`, "psn ==": "the expression ends where a value for psn is expected, such as 100..200",
		"nonsense == 1": `unknown field "nonsense"`, "(cm": "the expression ends where a parenthesis should be closed",
		"cm )": `unexpected ")": combine comparisons with and, or`, "and": `there is "and" where a field is expected, such as qp, psn, opcode or error`,
		"not": "the expression ends where a field is expected, such as qp, psn, opcode or error", "psn 1..2..3": `psn: "2..3" is not a number: write for example 100..200`,
		"psn in 3": `there is "3" where { is expected: field in {1, 2, 5..9}`, "addr < 3": "addr can only be compared with == and !=",
		"error == 1": "error takes no value", "qp 0x1000000": "qp: 0x1000000 is more than the field's 24 bits hold",
	} {
		js[bool](p, `(() => { const f = document.getElementById('filter'); f.value = %s; f.dispatchEvent(new Event('input')); return true; })()`, quote(bad))
		p.until("document.getElementById('count').textContent === %q",
			"22 packets · the filter is not understood: "+why)
	}
	js[bool](p, "document.getElementById('filter').select() || true")
	p.press("ack", kb.Enter)
	equal(p, "typed", p.text("#count"), "5 of 22 packets")
	equal(p, "focus", js[string](p, "document.activeElement.id"), "ladder")
	p.press(kb.Escape)
	p.click("#problems")
	equal(p, "problems", p.text("#count"), "7 of 22 packets")
	p.click("#again")
	equal(p, "problems retransmitted", p.text("#count"), "3 of 22 packets")
	p.click("#problems")
	p.click("#again")
	equal(p, "all", p.text("#count"), "22 packets")
}

func testConnections(t *testing.T, b context.Context) {
	s := scene.Many(200, 3)
	p := open(t, b, desktop, "", s.Packets)
	equal(p, "choices", js[int](p, "document.getElementById('flows').options.length"), 4)
	equal(p, "chosen", js[string](p, "document.getElementById('flows').value"), "-1")
	p.press(kb.Home)
	equal(p, "whose packet", p.text("#p0 .of"), "flow 1")
	n := 0
	for _, k := range s.Packets {
		if k.Flow.Number == 2 {
			n++
		}
	}
	js[bool](p, `(() => { const f = document.getElementById('flows'); f.value = '1'; f.dispatchEvent(new Event('change')); return true; })()`)
	equal(p, "of one", p.text("#count"), js[string](p, "'%d packets'", n))
	equal(p, "rows that say whose they are", js[int](p, "document.querySelectorAll('.of').length"), 0)
	equal(p, "right", p.text("#end-1"), "198.51.100.2QP 0x000201")
	equal(p, "plot", p.text("#plot-title"), "Requests from 192.0.2.1: PSN over time")
	p.click("#plot-axis")
	equal(p, "plot", p.text("#plot-title"), "Requests from 192.0.2.1: PSN by packet")
}

func testHostile(t *testing.T, b context.Context) {
	p := open(t, b, desktop, hostile[0], hostilePackets())
	equal(p, "heading", p.text("h1"), hostile[0])
	for i := range scene.LossyFrames {
		equal(p, "meaning", p.text("#details .meaning"), strings.ToValidUTF8(meaningOf(i), "\ufffd"))
		p.press(kb.ArrowDown)
	}
	equal(p, "what ran", js[string](p, "String(window.pwned)"), "undefined")
	equal(p, "elements that no part of the page makes",
		js[int](p,
			"document.querySelectorAll('img, svg, iframe, object, script:not(head script):not(body > script)').length"),
		0)
}

// meaningOf returns the meaning of packet i of hostilePackets as displayed.
func meaningOf(i int) string {
	if i == 3 {
		return hostile[0]
	}
	// Two bytes that are not UTF-8 become two replacement characters.
	return strings.ReplaceAll(hostile[i%len(hostile)], "\xff\xfe", "\ufffd\ufffd")
}

func testPolicy(t *testing.T, b context.Context) {
	var hits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer server.Close()
	p := open(t, b, desktop, "", scene.Lossy().Packets)
	p.loud = true // the browser logs what it blocks
	equal(p, "fetch", js[string](p, "fetch(%q).then(() => 'went', () => 'forbidden')", server.URL), "forbidden")
	for _, html := range []string{
		`<img src="` + server.URL + `/img">`, `<iframe src="` + server.URL + `/frame"></iframe>`,
		`<link rel="stylesheet" href="` + server.URL + `/css">`,
		`<p style="position:fixed">`,
	} {
		js[bool](p, "(() => { const d = document.createElement('div'); d.innerHTML = %q; document.body.append(d); return true; })()", html)
	}
	js[bool](p, `new Promise(done => {
		const d = document.createElement('div');
		d.innerHTML = '<img src="data:," onerror="window.pwned = 1">';
		d.firstChild.addEventListener('error', () => done(true));
		document.body.append(d);
	})`)
	js[bool](p, "(() => { const s = document.createElement('script'); s.textContent = 'window.pwned = 2'; document.body.append(s); return true; })()")
	js[bool](p,
		"(() => { const s = document.createElement('script'); s.src = %q; document.body.append(s); return true; })()",
		server.URL+"/js")
	p.until("true")
	equal(p, "what ran", js[string](p, "String(window.pwned)"), "undefined")
	equal(p, "style of a stranger",
		js[string](p, "getComputedStyle(document.querySelector('div > p[style]')).position"), "static")
	if n := hits.Load(); n != 0 {
		t.Errorf("%d requests reached a server", n)
	}
}

func testManyPackets(t *testing.T, b context.Context) {
	s := scene.Many(10_000, 4)
	p := open(t, b, desktop, "", s.Packets)
	const most = 1200
	elements := func(when string) {
		t.Helper()
		n := js[int](p, "document.querySelectorAll('*').length")
		if n > most {
			t.Errorf("%s: %d elements, more than %d", when, n, most)
		}
		if n := js[int](p, ladderRows); n == 0 {
			t.Errorf("%s: no rows", when)
		}
		t.Logf("%s: %d elements", when, n)
	}
	elements("at first")
	js[bool](p, "(e => { e.scrollTop = e.scrollHeight / 2; return true; })(document.getElementById('scroll'))")
	p.until("!document.getElementById('p0') || document.getElementById('p0').nextSibling.offsetTop > 9000")
	elements("in the middle")
	p.press(kb.End)
	last := s.Packets[len(s.Packets)-1]
	equal(p, "last", p.selected(), js[string](p, "'Frame %d: ACK'", last.Number))
	elements("at the end")
	equal(p, "the selected row is in sight", js[bool](p, `(() => {
		const r = document.querySelector('[aria-selected=true]').getBoundingClientRect(), s = document.getElementById('scroll').getBoundingClientRect();
		return r.top >= s.top && r.bottom <= s.bottom;
	})()`), true)
	p.press("R")
	elements("at one that was retransmitted")
	p.toFilter()
	p.press("again", kb.Enter)
	p.until("document.getElementById('count').textContent.endsWith(' of ' + %q)",
		js[string](p, "(%d).toLocaleString('en') + ' packets'", len(s.Packets)))
	elements("filtered")
}

func testPhone(t *testing.T, b context.Context) {
	s := scene.Lossy()
	s.Flows[0].Ends[0].Addr, s.Flows[0].Ends[1].Addr = longAddrs[0], longAddrs[1]
	for _, k := range s.Packets {
		k.BTH.PSN = k.BTH.PSN.Sub(1000)
	}
	p := open(t, b, mobile, "a-capture-with-a-rather-long-name-of-a-file-2026-03-14.pcapng", s.Packets)
	equal(p, "width", js[int](p, "document.documentElement.scrollWidth"), int(mobile.width))
	equal(p, "height", js[int](p, "document.documentElement.scrollHeight"), int(mobile.height))
	equal(p, "sheet", js[string](p, "getComputedStyle(document.getElementById('details')).display"), "none")
	if room := js[int](p, "document.getElementById('scroll').clientHeight"); room < 300 {
		t.Errorf("%d pixels are left to the ladder", room)
	}
	equal(p, "labels that are cut", js[string](p, `[...document.querySelectorAll('.label')].filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent).join()`), "")
	equal(p, "what is too small for a finger", js[string](p,
		`[...document.querySelectorAll('button, select, input, summary, .row[role=option]')].filter(e => e.offsetParent && e.getBoundingClientRect().height < 24).map(e => e.outerHTML).join()`), "")

	p.do(chromedp.Tap(chromedp.CSS("#p5")))
	p.until("getComputedStyle(document.getElementById('details')).display === 'block'")
	equal(p, "selected", p.selected(), "Frame 6: WRITE LAST")
	equal(p, "width with the sheet", js[int](p, "document.documentElement.scrollWidth"), int(mobile.width))
	for range 10 {
		p.press(kb.ArrowDown)
	}
	equal(p, "the selected row is above the sheet",
		js[bool](p, `document.querySelector('[aria-selected=true]').getBoundingClientRect().bottom <= document.getElementById('details').getBoundingClientRect().top`), true)
	p.click("#details .close")
	p.press(kb.Home, kb.Enter)
	equal(p, "the row of the sheet is in sight", js[bool](p,
		`document.querySelector('[aria-selected=true]').getBoundingClientRect().top >= document.getElementById('ends').getBoundingClientRect().bottom`), true)
	equal(p, "focus", js[string](p, "document.activeElement.id"), "details")
	p.press(kb.Escape)
	equal(p, "focus", js[string](p, "document.activeElement.id"), "ladder")
	equal(p, "sheet", js[string](p, "getComputedStyle(document.getElementById('details')).display"), "none")
}

func testNames(t *testing.T, b context.Context) {
	s := scene.Lossy()
	other := s.Flow(bth.ServiceUC, trace.End{Addr: longAddrs[0], QPN: 1}, trace.End{Addr: longAddrs[1], QPN: 2})
	s.Packet(other, 0, trace.Datagram, bth.Packet{Opcode: bth.UCSendOnly}, "")
	p := open(t, b, desktop, "", s.Packets)
	p.click("#p5")
	tree, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, n := range tree.Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		role, name := strings.Trim(string(n.Role.Value), `"`), ""
		if n.Name != nil {
			name = strings.Trim(string(n.Name.Value), `"`)
		}
		switch role {
		case "button", "combobox", "searchbox", "listbox", "option", "image", "complementary", "region",
			"status", "heading":
			found[role]++
			if name == "" && role != "status" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	for role, least := range map[string]int{"button": 5, "combobox": 1, "searchbox": 1, "listbox": 1, "option": 22,
		"image": 1, "complementary": 1, "region": 1, "status": 1, "heading": 5} {
		if found[role] < least {
			t.Errorf("%d of role %s, want %d at least", found[role], role, least)
		}
	}
	row := js[string](p, "document.getElementById('p8').getAttribute('aria-label')")
	equal(p, "the name of a row", row, "Frame 9, 0.000313 seconds, WRITE LAST PSN 103 from 192.0.2.1, retransmitted, warning: packet 4 of 4 of the WRITE, retransmitted. "+
		"Go-back-N: packets after PSN 102 are retransmitted although they had arrived.")
}

func testStrange(t *testing.T, b context.Context) {
	for name, packets := range strangePackets() {
		t.Run(name, func(t *testing.T) {
			p := open(t, b, desktop, "", packets)
			equal(p, "rows", js[int](p, ladderRows), len(packets))
			if len(packets) == 0 {
				equal(p, "beside the ladder", p.text("#details"), "Select a packet to see what it means.")
				equal(p, "in it", p.text("#none"), "There are no packets.")
				return
			}
			p.press(kb.End)
			if got, want := p.selected(),
				fmt.Sprintf("Frame %d: ", packets[len(packets)-1].Number); !strings.HasPrefix(got, want) {
				t.Errorf("beside the ladder: %q, want %q", got, want)
			}
			p.click("#plot-axis")
			p.until("true") // one frame later
		})
	}
}
