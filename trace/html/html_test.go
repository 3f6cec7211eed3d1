package html_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	tracehtml "github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

// render returns the page of packets.
func render(t testing.TB, opts tracehtml.Options, packets []*trace.Packet) string {
	t.Helper()
	p := tracehtml.New(opts)
	add(t, p, packets...)
	var b bytes.Buffer
	n, err := p.WriteTo(&b)
	if err != nil {
		t.Fatal(err)
	}
	if n != int64(b.Len()) {
		t.Errorf("WriteTo says %d bytes, %d were written", n, b.Len())
	}
	return b.String()
}

func add(t testing.TB, p *tracehtml.Page, packets ...*trace.Packet) {
	t.Helper()
	for _, k := range packets {
		if err := p.Packet(k); err != nil {
			t.Fatal(err)
		}
	}
}

var dataElement = regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`)

// dataOf returns the JSON in a page.
func dataOf(t testing.TB, page string) (raw string, doc map[string]any) {
	t.Helper()
	m := dataElement.FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no data in the page")
	}
	if err := json.Unmarshal([]byte(m[1]), &doc); err != nil {
		t.Fatal(err)
	}
	return m[1], doc
}

func TestThePolicyAllowsTheStyleAndTheScriptOfThePageAlone(t *testing.T) {
	page := render(t, tracehtml.Options{Title: "x"}, scene.Lossy().Packets)
	m := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no policy")
	}
	policy := html.UnescapeString(m[1])
	hash := func(tag string) string {
		m := regexp.MustCompile(`(?s)<` + tag + `>(.*?)</` + tag + `>`).FindStringSubmatch(page)
		if m == nil {
			t.Fatalf("no <%s>", tag)
		}
		sum := sha256.Sum256([]byte(m[1]))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := fmt.Sprintf(
		"default-src 'none'; script-src %s; style-src %s; img-src data:; base-uri 'none'; form-action 'none'",
		hash("script"), hash("style"))
	if policy != want {
		t.Errorf("policy\n%s\nwant\n%s", policy, want)
	}
	if at, title := strings.Index(page, "Content-Security-Policy"), strings.Index(page, "<title>"); at > title {
		t.Error("text of the capture stands before the policy")
	}
}

// hostile are texts that would do harm if a page interpreted them.
var hostile = []string{
	`</script><script>window.pwned = 1</script>`,
	`<!--<script>`,
	`--></script><img src=x onerror="window.pwned = 2">`,
	`"><svg onload=window.pwned=3>`,
	`' onmouseover='window.pwned=4`,
	"\u2028window.pwned=5\u2029",
	"{{.Data}} ${window.pwned=6} `+(window.pwned=7)+`",
	"\xff\xfe\x00 \x1b[31m \u202egnorw",
	`]]> javascript:window.pwned=8 \u003c \\`,
	`__proto__`,
}

// hostilePackets returns a conversation in which every text from the capture is hostile.
func hostilePackets() []*trace.Packet {
	s := scene.Lossy()
	for i, p := range s.Packets {
		h := hostile[i%len(hostile)]
		p.Meaning = h
		p.Findings = append(p.Findings,
			trace.Finding{Kind: trace.Kind(h), Level: trace.Error, Text: h, Frames: []int{-1, 0, p.Number, 1 << 40}})
	}
	s.Packets[3].Err = errors.New(hostile[0])
	for i, m := range s.Messages {
		h := hostile[i]
		m.Verb, m.Failed, m.WR, m.WC = h, h, h, h
	}
	f := s.Flows[0]
	f.Err, f.CM.Rejected = hostile[2], hostile[3]
	f.Ends[0].Addr = netip.MustParseAddr(`fe80::1%</script><script>window.pwned=9</script>`)
	return s.Packets
}

func TestHostileTextStaysText(t *testing.T) {
	for _, title := range hostile {
		page := render(t, tracehtml.Options{Title: title}, hostilePackets())
		if n := strings.Count(page, "<script"); n != 2 {
			t.Errorf("title %q: %d script elements, want 2", title, n)
		}
		if n := strings.Count(strings.ToLower(page), "</script"); n != 2 {
			t.Errorf("title %q: %d ends of scripts, want 2", title, n)
		}
		for _, tag := range []string{"<img", "<svg", "<!--"} {
			if strings.Contains(page, tag) {
				t.Errorf("title %q: %s is in the page", title, tag)
			}
		}
		raw, doc := dataOf(t, page)
		if strings.ContainsAny(raw, "<>\u2028\u2029") {
			t.Error("the data has what HTML or a script gives a meaning to")
		}
		packets := doc["packets"].([]any)
		if got := packets[0].(map[string]any)["g"]; got != hostile[0] {
			t.Errorf("meaning %q, want %q: text is to arrive as it was", got, hostile[0])
		}
	}
}

func TestNothingInThePageLeadsOutOfIt(t *testing.T) {
	page := render(t, tracehtml.Options{Title: "x"}, scene.Lossy().Packets)
	for _, out := range []string{"http:", "https:", "url(", "@import", "import(", "fetch(", "XMLHttpRequest",
		"WebSocket", "sendBeacon", "eval(", "innerHTML", "insertAdjacentHTML", "document.write"} {
		if strings.Contains(page, out) {
			t.Errorf("%q is in the page", out)
		}
	}
}

func TestThePageKeepsNoPayload(t *testing.T) {
	s := scene.Lossy()
	for _, p := range s.Packets {
		for i := range p.BTH.Payload {
			p.BTH.Payload[i] = 'Z'
		}
	}
	raw, _ := dataOf(t, render(t, tracehtml.Options{}, s.Packets))
	for _, secret := range []string{"ZZZ", "5a5a5a", "private", "hello"} {
		if strings.Contains(raw, secret) {
			t.Errorf("%q is in the page", secret)
		}
	}
}

func TestAFullPageSaysWhatItLeftOut(t *testing.T) {
	s := scene.Many(100, 2)
	p := tracehtml.New(tracehtml.Options{Max: 30})
	add(t, p, s.Packets...)
	if want := len(s.Packets) - 30; p.Omitted() != want {
		t.Errorf("%d left out, want %d", p.Omitted(), want)
	}
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	_, doc := dataOf(t, b.String())
	if got := doc["leftOut"].(float64); int(got) != p.Omitted() {
		t.Errorf("the page says %v", got)
	}
	if n := len(doc["packets"].([]any)); n != 30 {
		t.Errorf("%d packets in the page", n)
	}
}

func TestTheBoundWithoutOptionsIsDefaultMax(t *testing.T) {
	p := tracehtml.New(tracehtml.Options{})
	k := &trace.Packet{}
	for range tracehtml.DefaultMax + 3 {
		add(t, p, k)
	}
	if p.Omitted() != 3 {
		t.Errorf("%d left out, want 3", p.Omitted())
	}
}

func TestWhatAPacketBorrowsIsCopied(t *testing.T) {
	s := scene.Lossy()
	p := tracehtml.New(tracehtml.Options{})
	for _, k := range s.Packets {
		add(t, p, k)
		for i := range k.Findings {
			clear(k.Findings[i].Frames)
		}
		clear(k.Bytes)
		*k = trace.Packet{}
	}
	s.Flows[0].Err = "what became of it in the end"
	var b bytes.Buffer
	if _, err := p.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	_, doc := dataOf(t, b.String())
	nak := doc["packets"].([]any)[scene.FrameNAK-1].(map[string]any)
	if nak["lb"] != "NAK PSN sequence error" || nak["n"] != 7.0 {
		t.Errorf("the NAK is %v", nak)
	}
	frames := nak["q"].([]any)[0].(map[string]any)["f"].([]any)
	if frames[0] != 6.0 || frames[1] != 7.0 {
		t.Errorf("frames %v", frames)
	}
	if got := doc["flows"].([]any)[0].(map[string]any)["x"]; got != "what became of it in the end" {
		t.Errorf("the flow is that of the packet, not of the end: %v", got)
	}
}

// Ends with the same address are told apart by queue pair, or by messages that only one end
// sends.
func TestWhichEndSentAPacket(t *testing.T) {
	here := netip.MustParseAddr("127.0.0.1")
	s := scene.New()
	rc := s.Flow(bth.ServiceRC, trace.End{Addr: here, QPN: 17}, trace.End{Addr: here, QPN: 18})
	ud := s.Flow(bth.ServiceUD, trace.End{Addr: here, QPN: 19}, trace.End{Addr: here, QPN: 20})
	far := s.Flow(bth.ServiceRC, trace.End{Addr: here}, trace.End{Addr: netip.MustParseAddr("::1").Unmap(), QPN: 18})
	far.Ends[0].Addr = netip.MustParseAddr("::2")
	var want []int
	add := func(f *trace.Flow, from int, b bth.Packet) *trace.Packet {
		want = append(want, from)
		return s.Packet(f, from, trace.Request, b, "")
	}
	for from := range 2 {
		add(rc, from, bth.Packet{Opcode: bth.RCSendOnly})
		add(ud, from, bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.MulticastQPN,
			DETH: bth.DETH{SrcQP: ud.Ends[from].QPN}})
		add(far, from, bth.Packet{Opcode: bth.RCAck, DestQP: 99})
		for a := mad.AttrREQ; a <= mad.AttrREP; a++ {
			asks := a == mad.AttrREQ
			if asks == (from == 0) {
				add(rc, from, bth.Packet{Opcode: bth.UDSendOnly, DestQP: bth.GSI,
					Payload: make([]byte, mad.Len)}).MAD = &mad.Message{Attribute: a}
			}
		}
	}
	_, doc := dataOf(t, render(t, tracehtml.Options{}, s.Packets))
	for i, v := range doc["packets"].([]any) {
		got := 0
		if w, ok := v.(map[string]any)["w"].(float64); ok {
			got = int(w)
		}
		if got != want[i] {
			t.Errorf("packet %d (%v) is said to be from end %d, it is from %d", i+1, s.Packets[i].BTH.Opcode,
				got, want[i])
		}
	}
}

// strangePackets are packets that an Analyzer rarely produces, but that a page must handle.
func strangePackets() map[string][]*trace.Packet {
	far := time.Unix(1<<40, 0)
	return map[string][]*trace.Packet{
		"nothing":           nil,
		"a packet of zeros": {{}},
		"times far apart":   {{Number: 1, Time: far}, {Number: 2, Time: time.Unix(-1<<40, 0)}},
		"unknown everything": {{Number: 1, Role: 99, Direction: 99, ICRC: trace.ICRC{Verdict: 99},
			Findings: []trace.Finding{{Level: 99}}, Flow: &trace.Flow{}, Message: &trace.Message{}}},
		"a bare BTH": {{Number: 1, Err: errors.New("cut"), Bytes: make([]byte, bth.BTHLen),
			BTH: bth.Packet{Opcode: 0xff}}},
	}
}

// longAddrs are addresses of maximum length.
var longAddrs = [2]netip.Addr{netip.MustParseAddr("2001:db8:1234:5678:9abc:def0:1234:5678"),
	netip.MustParseAddr("2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa")}

func TestPagesOfWhatCanHardlyBeShown(t *testing.T) {
	for name, packets := range strangePackets() {
		t.Run(name, func(t *testing.T) {
			_, doc := dataOf(t, render(t, tracehtml.Options{}, packets))
			for _, list := range []string{"packets", "flows", "messages", "addrs", "opcodes", "lessons"} {
				if _, ok := doc[list].([]any); !ok {
					t.Errorf("%s is %v, the script wants a list", list, doc[list])
				}
			}
		})
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAnErrorOfTheFileIsReturned(t *testing.T) {
	p := tracehtml.New(tracehtml.Options{})
	if _, err := p.WriteTo(broken{}); err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("error %v", err)
	}
}
