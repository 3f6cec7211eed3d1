package transport

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// The step language. A script is a list of lines, each a step:
//
//	post send|sendimm|write|writeimm|read|cas|faa id=1 len=10 [fence] [se] [silent]
//	recv id=1 len=10 [lkey=rw at=0x20000]
//	< OPCODE psn=1 ...   a packet arrives
//	<+ OPCODE psn=1 ...  the same, but the machine may send only after the next one
//	> OPCODE psn=1 ...   the machine sends this packet
//	send 2 [more|done]   the machine may send up to 2 packets now; whether it has more
//	wc 1 SUCCESS SEND    the machine completes a work request
//	verdict duplicate    the verdict on the last packet
//	counts ack_timeouts=1 ...  all counters that are not 0, besides those of packets
//	advance 10ms         time passes, timers fire
//	progress send=101 ack=100 recv=100 ...  the progress of the machine
//	state ERR            the queue pair's state
//	dereg rw             deregisters a memory region
//
// and those of script_queue_test.go, script_memory_test.go and, for datagrams,
// script_datagram_test.go.
//
// The output of the machine must match the following >, wc and event steps in order; output
// without a step fails the test at the next step of another kind.
// The machine under test has QPN 0x11, the peer 0x22; both start with PSN 100; the
// path MTU is 256. Regions: "rw" 1 MiB at 0x10000 with every access, "ro" 4 KiB at
// 0x200000 for remote read only.
type script struct {
	t          *testing.T
	rc         scripted
	qp         *qp.QP
	keys       *mr.Table
	regions    map[string]*mr.Region
	now        Time
	batch      *packet.Batch
	got        []string // packets, completions and events not yet matched
	verdict    Verdict
	line       string
	sends      *sendRing // nil if requests are pushed
	storeBatch StoreBatch
	keyed
}

// scripted is the interface of the machines of all service types.
type scripted interface {
	Receive(Time, *bth.Packet) Verdict
	Transmit(Time, *packet.Path, *packet.Batch, int) bool
	NextTimeout() (Time, bool)
	Timeout(Time)
	Modified(Time)
	Posted()
	Counters() *Counters
	Progress() Progress
}

// completions turns completions into lines of the script.
type completions struct{ s *script }

func (c completions) Complete(wc *qp.WC) {
	if r := c.s.sends; r != nil && r.consumer != r.fetched-uint32(c.s.qp.SQ.Len())+1 {
		c.s.t.Errorf("%s: a program that polls now finds %d places free", c.s.line, r.consumer)
	}
	l := fmt.Sprintf("wc %d %s", wc.WRID, wc.Status.Name())
	if wc.Status == qp.WCSuccess {
		l += fmt.Sprintf(" %s", wc.Opcode)
		if wc.Opcode >= qp.WCRecv {
			l += fmt.Sprintf(" len=%d", wc.ByteLen)
		}
		if wc.Flags&qp.WithImm != 0 {
			l += fmt.Sprintf(" imm=%d", wc.Imm)
		}
		if wc.Flags&qp.WithInv != 0 {
			l += " inv"
			if wc.Imm != c.s.invalidated {
				l += fmt.Sprintf("=%#x", wc.Imm)
			}
		}
		if wc.Solicited {
			l += " se"
		}
		l += datagramWC(wc)
	}
	c.s.got = append(c.s.got, l)
}

const scriptPSN = 100

func newScript(t *testing.T, adjust func(*qp.Attr, *Config)) *script {
	t.Helper()
	return newScriptOf(t, qp.RC, adjust)
}

func newScriptOf(t *testing.T, service qp.Type, adjust func(*qp.Attr, *Config)) *script {
	t.Helper()
	s := &script{t: t, batch: packet.NewBatch(256), now: 1, regions: map[string]*mr.Region{}}
	pd := &mr.PD{ID: 1}
	s.keys = mr.NewTable([32]byte{1}, 1000)
	register := func(name string, iova, n uint64, a mr.Access) {
		r, err := s.keys.Register(pd, mr.Bytes(make([]byte, n)), iova, n, a)
		if err != nil {
			t.Fatal(err)
		}
		s.regions[name] = r
	}
	register("rw", 0x10000, 1<<20, mr.LocalWrite|mr.RemoteWrite|mr.RemoteRead|mr.RemoteAtomic)
	register("ro", 0x200000, 4096, mr.RemoteRead)
	attr := qp.Attr{
		PathMTU: 256, DestQPN: 0x22, RQPSN: scriptPSN, SQPSN: scriptPSN,
		Access: mr.RemoteWrite | mr.RemoteRead | mr.RemoteAtomic, QKey: scriptQKey,
		MaxRdAtomic: 2, MaxDestRdAtomic: 2, MinRNRTimer: 12, Timeout: 14, RetryCnt: 2, RNRRetry: 2,
	}
	cfg := Config{Window: 16, AckEvery: 8, BackoffLimit: 1}
	if adjust != nil {
		adjust(&attr, &cfg)
	}
	s.qp = &qp.QP{
		Num: 0x11, Type: service, PD: pd, SigAll: false,
		SQ: qp.NewSendQueue(64, 4, false), Recv: qp.NewRecvQueue(pd, 64, 4),
		SendCQ: completions{s}, RecvCQ: completions{s}, Events: events{s},
	}
	switch service {
	case qp.UC:
		s.rc = NewUC(s.qp, s.keys)
	case qp.UD, qp.GSI:
		s.rc = NewUD(s.qp, s.keys)
	default:
		s.rc = NewRC(s.qp, s.keys, &cfg)
	}
	if g, ok := s.rc.(interface{ ShareStoreBatch(*StoreBatch) }); ok && service != qp.UD {
		g.ShareStoreBatch(&s.storeBatch)
	}
	s.makeKeyed()
	for _, st := range []qp.State{qp.INIT, qp.RTR, qp.RTS} {
		s.qp.Attr = attr
		s.qp.Attr.State = st
		s.rc.Modified(s.now)
	}
	return s
}

// run executes the script and fails on the first step that does not hold.
func (s *script) run(text string) {
	s.t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.line = line
		s.step(line)
	}
	s.line = "end of script"
	s.quiet()
}

func (s *script) fatalf(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("at %q: %s", s.line, fmt.Sprintf(format, args...))
}

// quiet fails if there is output that no step has expected.
func (s *script) quiet() {
	s.t.Helper()
	if len(s.got) > 0 {
		s.fatalf("nobody asked for:\n\t%s", strings.Join(s.got, "\n\t"))
	}
}

func (s *script) step(line string) {
	s.t.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case ">", "wc", "event":
		if len(s.got) == 0 {
			s.fatalf("the machine put out nothing")
		}
		if s.got[0] != line {
			s.fatalf("the machine put out %q", s.got[0])
		}
		s.got = s.got[1:]
		return
	case "verdict":
		if s.verdict.String() != rest {
			s.fatalf("the verdict was %s", s.verdict)
		}
		return
	case "counts":
		s.counts(rest)
		return
	case "progress":
		if got := progressText(s.rc.Progress()); got != rest {
			s.fatalf("the progress is %s", got)
		}
		return
	case "state":
		if s.qp.State().String() != rest {
			s.fatalf("the state is %s", s.qp.State())
		}
		return
	}
	s.quiet()
	switch verb {
	case "post":
		s.post(strings.Fields(rest))
	case "recv":
		s.recv(fields(strings.Fields(rest)))
	case "<", "<+":
		p := s.parse(strings.Fields(rest))
		s.receive(p)
		if verb == "<+" {
			return
		}
	case "advance":
		d, err := time.ParseDuration(rest)
		if err != nil {
			s.fatalf("%v", err)
		}
		s.advance(s.now + Time(d))
		return
	case "send":
		count, says, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(count)
		if err != nil {
			s.fatalf("%v", err)
		}
		if more := s.burst(n); more && says == "done" || !more && says == "more" {
			s.fatalf("more to send: %v", more)
		}
		return
	case "dereg":
		if err := s.keys.Deregister(s.regions[rest]); err != nil {
			s.fatalf("%v", err)
		}
	default:
		if !s.queueStep(verb, rest) && !s.memoryStep(verb, rest) {
			s.fatalf("unknown step")
		}
		if verb == "modify+" || verb == "hold" {
			return
		}
	}
	s.transmit()
}

// receive delivers p. The machine must have announced each key that it invalidates.
func (s *script) receive(p *bth.Packet) {
	s.t.Helper()
	c, ok := s.rc.(interface{ Invalidates(*bth.Packet) bool })
	announced, open := ok && c.Invalidates(p), s.opened()
	s.verdict = s.rc.Receive(s.now, p)
	if taken := s.opened() < open; taken && !announced {
		s.fatalf("a key was taken away without Invalidates")
	} else if announced && !taken && s.verdict == Accepted {
		s.fatalf("no key was taken away, but Invalidates said so")
	}
}

// advance lets time pass up to end and fires each timer at its time.
func (s *script) advance(end Time) {
	for {
		at, ok := s.rc.NextTimeout()
		if !ok || at > end {
			break
		}
		s.now = max(s.now, at)
		s.rc.Timeout(s.now)
		s.transmit()
	}
	s.now = end
}

func (s *script) transmit() {
	for s.burst(64) {
	}
}

// burst lets the machine send at most n packets and reports whether it has more.
func (s *script) burst(n int) (more bool) {
	s.refill()
	s.storeBatch.Settle()
	more = s.rc.Transmit(s.now, nil, s.batch, n)
	for i := range s.batch.Len() {
		f := s.batch.At(i)
		raw := append(f.AppendTo(nil), 0, 0, 0, 0)
		var p bth.Packet
		if err := p.Decode(raw); err != nil {
			s.fatalf("the machine sent a packet that does not decode: %v", err)
		}
		if s.qp.Type.Connected() && p.DestQP != 0x22 || p.PKey != 0xffff || !p.MigReq {
			s.fatalf("wrong BTH: %+v", p)
		}
		line := "> " + s.format(&p) + datagramHeader(f, &p)
		if f.Seal == SealRxeFlushICRC {
			line += " rxeicrc"
		}
		s.got = append(s.got, line)
	}
	s.batch.Reset()
	if u, ok := s.rc.(interface{ Sent(Time) bool }); ok {
		more = u.Sent(s.now) || more
	}
	return more
}

var postOps = map[string]qp.WROpcode{
	"send": qp.WRSend, "sendimm": qp.WRSendImm, "write": qp.WRWrite, "writeimm": qp.WRWriteImm, "read": qp.WRRead,
	"cas": qp.WRCmpSwap, "faa": qp.WRFetchAdd,
}

func (s *script) post(words []string) {
	f := fields(words[1:])
	wr := qp.SendWR{ID: f.num("id"), Opcode: postOps[words[0]], Flags: qp.Signaled, RemoteAddr: 0x40000, RKey: 0x1234,
		Imm: uint32(f.num("imm"))}
	if n := uint32(f.num("len")); n > 0 {
		wr.SGList = []qp.SGE{{Addr: 0x10000, Length: n, LKey: s.regions["rw"].LKey()}}
	}
	wr.CompareAdd, wr.Swap = f.num("cmp")+f.num("add"), f.num("swap")
	if f.has("badkey") {
		wr.SGList[0].LKey ^= 0x55
	}
	if key, ok := s.key(f["lkey"]); ok {
		wr.SGList[0] = qp.SGE{Addr: 0x300000, Length: wr.SGList[0].Length, LKey: key}
	}
	if f.has("at") {
		wr.SGList[0].Addr = f.num("at")
	}
	if f.has("fence") {
		wr.Flags |= qp.Fence
	}
	if f.has("se") {
		wr.Flags |= qp.Solicited
	}
	if f.has("silent") {
		wr.Flags &^= qp.Signaled
	}
	if !s.qp.Type.Connected() {
		s.address(&wr, f)
	}
	s.postMemory(&wr, f)
	if s.sends != nil {
		switch words[0] {
		case "junk":
			wr.Opcode = junk
		case "bad-flush":
			wr.Opcode = qp.WRFlush
		}
		if !s.sends.Push(&wr) {
			s.fatalf("the ring is full")
		}
		return
	}
	if err := s.qp.SQ.Push(&wr); err != nil {
		s.fatalf("%v", err)
	}
	s.rc.Posted()
}

// args are the words of a step: name=value or a flag.
type args map[string]string

func fields(words []string) args {
	f := args{}
	for _, w := range words {
		k, v, _ := strings.Cut(w, "=")
		f[k] = v
	}
	return f
}

func (f args) has(name string) bool { _, ok := f[name]; return ok }

func (f args) num(name string) uint64 {
	n, _ := strconv.ParseUint(f[name], 0, 64)
	return n
}
