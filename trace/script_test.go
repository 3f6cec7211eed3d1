package trace_test

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
)

// A script describes what two hosts send, and what the Analyzer must say about it:
//
//	a WRITE_FIRST psn=100 len=1024 dma=2000   host a sends a packet with this opcode to host b;
//	    = WRITE #1, packet 1 of 2...          its meaning; dots stand for any text
//	    ! gap PSN 99 is missing...            a finding and its text
//	+5ms                                      time passes; between two packets it is 1ms
//	message WRITE #1 done                     a completed message, or "failed: ..." or "open"
//	flow 1 lost=2 mtu=1024                    fields of a flow at the end of the script
//
// Findings that are not listed fail the test. Words of a packet: to=QPN is the destination queue
// pair (by default a's is 0x11 and b's 0x22), id= the IP identification (by default it
// increments), bad means a wrong ICRC, ce an ECN CE mark, nom a packet without MigReq; split=BYTES
// from=PSN adds gorxe's note of a WRITE that is sent as one message per packet.
type script struct {
	t        *testing.T
	a        *trace.Analyzer
	now      time.Time
	frame    int
	id       int
	last     *trace.Packet
	findings []trace.Finding
	messages []string
	flows    map[int]*trace.Flow
	where    string
}

func newScript(t *testing.T, o trace.Options) *script {
	s := &script{t: t, now: time.Unix(1000, 0), id: 1000, flows: map[int]*trace.Flow{}}
	o.Message = func(m *trace.Message) {
		how := "open"
		switch {
		case m.Done:
			how = "done"
		case m.Failed != "":
			how = "failed: " + m.Failed
		}
		s.messages = append(s.messages, fmt.Sprintf("%s #%d %s", m.Verb, m.Number, how))
	}
	o.Flow = func(f *trace.Flow) { s.flows[f.Number] = f }
	s.a = trace.NewAnalyzer(o)
	return s
}

func (s *script) run(text string) {
	s.t.Helper()
	finished := false
	for i, l := range strings.Split(text, "\n") {
		words := strings.Fields(l)
		if len(words) == 0 {
			continue
		}
		s.where = fmt.Sprintf("line %d: %s", i, strings.TrimSpace(l))
		rest := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(l), words[0]))
		switch w := words[0]; {
		case w == "=":
			if !like(s.last.Meaning, rest) {
				s.errorf("it means: %s", s.last.Meaning)
			}
		case w == "!":
			s.found(words[1], strings.TrimSpace(strings.TrimPrefix(rest, words[1])))
		case w == "role":
			if got := fmt.Sprintf("%s flow=%d again=%v", s.last.Role, s.last.Flow.Number, s.last.Again); got != rest {
				s.errorf("it is %s", got)
			}
		case w == "from":
			if got := fmt.Sprint(s.last.Message.From); got != rest {
				s.errorf("its message is from end %s", got)
			}
		case w[0] == '+':
			d, err := time.ParseDuration(w[1:])
			if err != nil {
				s.t.Fatal(err)
			}
			s.now = s.now.Add(d)
		case w == "message" || w == "flow":
			s.settled()
			if !finished && w == "flow" {
				s.a.Finish()
				finished = true
			}
			if w == "message" {
				s.message(rest)
			} else {
				s.flow(words[1:])
			}
		case w == "finish":
			s.a.Finish()
			finished = true
		default:
			s.settled()
			s.packet(w, words[1:])
		}
	}
	s.settled()
}

// like reports whether got matches want, in which dots stand for any text.
func like(got, want string) bool {
	parts := strings.Split(want, "...")
	if !strings.HasPrefix(got, parts[0]) {
		return false
	}
	got = got[len(parts[0]):]
	for i, p := range parts[1:] {
		if i == len(parts)-2 {
			return strings.HasSuffix(got, p)
		}
		_, after, ok := strings.Cut(got, p)
		if !ok {
			return false
		}
		got = after
	}
	return got == ""
}

func (s *script) errorf(format string, args ...any) {
	s.t.Helper()
	s.t.Errorf("%s: "+format, append([]any{s.where}, args...)...)
}

// settled fails on unexpected findings.
func (s *script) settled() {
	s.t.Helper()
	for _, f := range s.findings {
		s.errorf("the packet before it has a finding that nobody asked for: %s %s: %s", f.Level, f.Kind, f.Text)
	}
	s.findings = nil
}

func (s *script) found(kind, text string) {
	s.t.Helper()
	for i, f := range s.findings {
		if string(f.Kind) == kind && like(f.Text, text) {
			if len(f.Frames) == 0 || f.Frames[len(f.Frames)-1] != s.last.Number {
				s.errorf("its frames are %v", f.Frames)
			}
			s.findings = append(s.findings[:i:i], s.findings[i+1:]...)
			return
		}
	}
	s.errorf("findings are %+v", s.findings)
}

func (s *script) message(want string) {
	s.t.Helper()
	for i, m := range s.messages {
		if like(m, want) {
			s.messages = append(s.messages[:i:i], s.messages[i+1:]...)
			return
		}
	}
	s.errorf("messages handed over are %q", s.messages)
}

func (s *script) flow(words []string) {
	s.t.Helper()
	n, _ := strconv.Atoi(words[0])
	f := s.flows[n]
	if f == nil {
		s.errorf("there is no such flow")
		return
	}
	got := map[string]string{
		"mtu": fmt.Sprint(f.MTU), "lost": fmt.Sprint(f.LostBefore), "behind": fmt.Sprint(f.LostBehind),
		"duplicates": fmt.Sprint(f.Duplicates), "ce": fmt.Sprint(f.CE), "undecided": fmt.Sprint(f.Undecided),
		"active": fmt.Sprint(f.Active),
		"again":  fmt.Sprint(f.Again), "payload": fmt.Sprint(f.Payload),
		"naks": fmt.Sprint(f.NAKs), "rnrs": fmt.Sprint(f.RNRs), "cnps": fmt.Sprint(f.CNPs),
		"timeouts": fmt.Sprint(f.Timeouts),
		"packets":  fmt.Sprint(f.Packets), "messages": fmt.Sprint(f.Messages), "window": fmt.Sprint(f.Window),
		"rtts":    fmt.Sprint(f.RTT.Count),
		"ends":    fmt.Sprintf("%v/%#x-%v/%#x", f.Ends[0].Addr, f.Ends[0].QPN, f.Ends[1].Addr, f.Ends[1].QPN),
		"running": fmt.Sprint(f.BeganBefore),
		"cut":     fmt.Sprint(f.Evicted), "service": f.Service.String(), "err": strings.ReplaceAll(f.Err, " ", "_"),
	}
	if m := f.CM; m != nil {
		got["managed"] = fmt.Sprintf("port:%d,took:%v,retries:%d,ended:%v", m.Port, m.SetupTime, m.Retries, m.Ended)
	}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		if !like(got[k], v) {
			s.errorf("%s is %s", k, got[k])
		}
	}
}

type fields map[string]string

func (f fields) has(k string) bool { _, ok := f[k]; return ok }

func (f fields) num(k string, otherwise uint64) uint64 {
	if f[k] == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(f[k], 0, 64)
	if err != nil {
		panic(err)
	}
	return n
}

var syndromes = map[string]bth.Syndrome{
	"ack": bth.AckUnlimited, "seq": bth.NakPSNSequence, "inv": bth.NakInvalidRequest, "acc": bth.NakRemoteAccess,
	"op": bth.NakRemoteOperational,
}

// packet sends a packet.
func (s *script) packet(host string, words []string) {
	s.t.Helper()
	f := fields{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		f[k] = v
	}
	src, dst, by, to := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2"), uint64(0x11), uint64(0x22)
	if host == "b" {
		src, dst, by, to = dst, src, to, by
	}
	s.frame++
	s.now = s.now.Add(time.Millisecond)
	s.id++
	p := &trace.Packet{
		Number: s.frame, Part: 1, Parts: 1, Time: s.now,
		Src: netip.AddrPortFrom(src, uint16(f.num("port", 4791))), Dst: netip.AddrPortFrom(dst, 4791),
		IP: trace.IP{Version: 4, ID: uint16(f.num("id", uint64(s.id)))}, ICRC: trace.ICRC{Verdict: trace.Right},
	}
	if f.has("ce") {
		p.IP.TrafficClass = 3
	}
	if f.has("bad") {
		p.ICRC = trace.ICRC{Verdict: trace.Wrong, Wire: 1, Want: 2}
	}
	b := &bth.Packet{
		Opcode: s.opcode(words[0]), PKey: 0xffff, MigReq: !f.has("nom"), DestQP: bth.QPN(f.num("to", to)),
		PSN: bth.PSN(f.num("psn", 0)), AckReq: f.has("ack"), Solicited: f.has("se"), Imm: uint32(f.num("imm", 0)),
		InvalidateRKey: uint32(f.num("inv", 0)), Payload: make([]byte, f.num("len", 0)),
		RETH: bth.RETH{VA: f.num("va", 0x1000), RKey: uint32(f.num("rkey", 0x77)), DMALen: uint32(f.num("dma", 0))},
		DETH: bth.DETH{SrcQP: bth.QPN(f.num("by", by))}, AtomicAck: f.num("value", 0),
		AtomicETH: bth.AtomicETH{VA: f.num("va", 0x1000), RKey: uint32(f.num("rkey", 0x77)), SwapAdd: f.num("add", 0),
			Compare: f.num("cmp", 0)},
		AETH: bth.AETH{Syndrome: bth.AckUnlimited, MSN: uint32(f.num("msn", 0))},
	}
	if syn, ok := syndromes[f["syn"]]; ok {
		b.AETH.Syndrome = syn
	} else if n, ok := strings.CutPrefix(f["syn"], "rnr"); ok {
		code, _ := strconv.Atoi(n)
		b.AETH.Syndrome = bth.RNR(uint8(code))
	} else if n, ok := strings.CutPrefix(f["syn"], "credit"); ok {
		code, _ := strconv.Atoi(n)
		b.AETH.Syndrome = bth.Syndrome(code)
	} else if f.has("syn") {
		b.AETH.Syndrome = bth.Syndrome(f.num("syn", 0))
	}
	if m := message(words[0], f); m != nil {
		p.MAD = m
		b.Opcode, b.DestQP, b.DETH.SrcQP, b.Payload = bth.UDSendOnly, bth.GSI, bth.GSI, make([]byte, mad.Len)
	}
	p.Bytes = append(b.Append(nil), 0, 0, 0, 0)
	if f.has("cut") {
		p.Bytes = p.Bytes[:f.num("cut", 0)]
	}
	p.Len = len(p.Bytes)
	p.Err = bth.Explain(p.Bytes)
	switch err := p.BTH.Decode(p.Bytes); {
	case bth.ReasonOf(err) == bth.ReasonSyndrome:
		p.Err = nil // as the Decoder does
	case (err == nil) != (p.Err == nil):
		s.t.Fatal(err, p.Err)
	}
	if f.has("split") {
		p.Comments = []string{trace.SplitNote("wr_id 7 RDMA_WRITE", f.num("split", 0), bth.PSN(f.num("from", 0)))}
	}
	s.a.Add(p)
	s.last, s.findings = p, p.Findings
}

func (s *script) opcode(name string) bth.Opcode {
	for op := range bth.Opcodes() {
		if op.String() == "RC_"+name || op.String() == "RC_RDMA_"+name || op.String() == name {
			return op
		}
	}
	if message(name, nil) == nil {
		s.t.Fatalf("%s: unknown opcode", s.where)
	}
	return 0
}

// message returns a CM message.
func message(name string, f fields) *mad.Message {
	local, remote := mad.CommID(f.num("id", 0)), mad.CommID(f.num("peer", 0))
	local = mad.CommID(f.num("comm", uint64(local)))
	qpn, psn := bth.QPN(f.num("qpn", 0)), bth.PSN(f.num("psn", 0))
	switch name {
	case "REQ":
		return &mad.Message{Attribute: mad.AttrREQ,
			REQ: mad.REQ{LocalCommID: local, LocalQPN: qpn, StartingPSN: psn,
				PathMTU: uint8(f.num("mtu", 3)), ServiceID: mad.IPServiceID(
					mad.PortSpaceTCP, uint16(f.num("port", 7000))),
				TransportService: mad.TransportService(f.num("service", 0))}}
	case "REP":
		return &mad.Message{Attribute: mad.AttrREP,
			REP: mad.REP{LocalCommID: local, RemoteCommID: remote, LocalQPN: qpn, StartingPSN: psn}}
	case "RTU":
		return &mad.Message{Attribute: mad.AttrRTU, RTU: mad.RTU{LocalCommID: local, RemoteCommID: remote}}
	case "MRA":
		return &mad.Message{Attribute: mad.AttrMRA, MRA: mad.MRA{LocalCommID: local, RemoteCommID: remote}}
	case "REJ":
		return &mad.Message{Attribute: mad.AttrREJ,
			REJ: mad.REJ{LocalCommID: local, RemoteCommID: remote, Reason: mad.RejectReason(f.num("reason", 8)),
				ARI: make([]byte, 0)}}
	case "DREQ":
		return &mad.Message{Attribute: mad.AttrDREQ,
			DREQ: mad.DREQ{LocalCommID: local, RemoteCommID: remote, RemoteQPN: qpn}}
	case "DREP":
		return &mad.Message{Attribute: mad.AttrDREP, DREP: mad.DREP{LocalCommID: local, RemoteCommID: remote}}
	case "SIDR_REQ":
		return &mad.Message{Attribute: mad.AttrSIDRREQ,
			SIDRREQ: mad.SIDRREQ{RequestID: local, ServiceID: mad.IPServiceID(mad.PortSpaceUDP, 7000)}}
	case "SIDR_REP":
		return &mad.Message{Attribute: mad.AttrSIDRREP,
			SIDRREP: mad.SIDRREP{RequestID: local, Status: mad.SIDRStatus(f.num("status", 0)), QPN: qpn,
				ServiceID: mad.IPServiceID(mad.PortSpaceUDP, 7000)}}
	}
	return nil
}

// scenario is a script, named after the rule that it tests.
type scenario struct {
	rule   string
	script string
}

func runScenarios(t *testing.T, all []scenario) {
	t.Helper()
	for _, s := range all {
		t.Run(s.rule, func(t *testing.T) { newScript(t, trace.Options{}).run(s.script) })
	}
}
