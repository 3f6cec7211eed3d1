package cm

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

// The step language. A script is a list of lines, each a step:
//
//	listen PORT [udp] [gid=1] [backlog=2]   the program listens, unlisten ends the first listener
//	connect | resolve                       the program connects, or requests a service ID
//	accept #1 | reject #1 | ready #1 | disconnect #1 | cancel #1 | withdraw #1 | ignore #1 |
//	answer #1 | data #1                     a call of the program
//	refused CALL #1                         a call of the program that must fail
//	< REQ 0x22 [port=7] [qpn=..] [guid=..] [from=B] ...   a message arrives from peer A
//	< REP 0x22 #1                           the sender's communication ID, then the receiver's
//	> A REQ #1                              a message must have been sent
//	event REQUESTED #1                      an event must have happened
//	verdict duplicate                       verdict on the last message
//	advance 10s                             time passes, each timer fires at its time
//	late 10s                                time passes, all timers fire at its end
//	state #1 ESTABLISHED                    or: state #1 gone
//	open 1                                  number of half-open connections
//	backlog 1 1                             number of waiting requests per listener
//	displaced 1                             number of displaced half-open connections
//	ignored 1                               number of ignored requests
//
// The next > and event steps must list the output of the manager, in any order; unlisted output
// fails the test at the next other step. #1 is the manager's first communication ID, #2 its second.
// The program's queue pair is 0x11, the peer's 0x33, the peer's GUID 0x77.
type script struct {
	t       *testing.T
	m       *Manager
	now     Time
	got     []string
	verdict Verdict
	line    string
	lids    []ListenerID
}

const ourGUID mad.GUID = 0x0200000000000001

func runScript(t *testing.T, cfg Config, text string) *script {
	t.Helper()
	cfg.CAGUID = ourGUID
	s := &script{t: t, m: New(cfg)}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "//")
		if f := strings.Fields(line); len(f) > 0 {
			s.line = strings.Join(f, " ")
			s.step(f)
		}
	}
	s.line = "end"
	s.quiet()
	s.check()
	return s
}

func (s *script) fail(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: %s", s.line, fmt.Sprintf(format, args...))
}

func (s *script) quiet() {
	s.t.Helper()
	if len(s.got) > 0 {
		s.fail("nobody asked for %q", s.got)
	}
}

// ourIDs are the IDs of a manager with a zero secret.
var ourIDs = newIDs([32]byte{})

func our(n int) mad.CommID { return ourIDs.at(uint32(n)) }

func (s *script) id(word string) mad.CommID {
	n, ok := strings.CutPrefix(word, "#")
	v, err := strconv.ParseUint(n, 0, 32)
	if err != nil {
		s.fail("%q is no communication ID", word)
	}
	if ok {
		return our(int(v))
	}
	return mad.CommID(v)
}

func name(id mad.CommID) string {
	for n := 1; n < 100; n++ {
		if our(n) == id {
			return "#" + strconv.Itoa(n)
		}
	}
	return fmt.Sprintf("%#x", uint32(id))
}

func peerNamed(n string) Peer {
	return Peer{SGIDIndex: 0, GID: qp.GID{15: n[0]}}
}

type args map[string]string

func (a args) num(key string, def uint64) uint64 {
	if v, ok := a[key]; ok {
		n, err := strconv.ParseUint(v, 0, 64)
		if err != nil {
			panic(err)
		}
		return n
	}
	return def
}

func parse(words []string) (plain []string, named args) {
	named = args{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			named[k] = v
		} else {
			plain = append(plain, w)
		}
	}
	return plain, named
}

func (s *script) step(f []string) {
	s.t.Helper()
	switch f[0] {
	case ">", "event":
		want := strings.Join(f, " ")
		i := slices.Index(s.got, want)
		if i < 0 {
			s.fail("not among %q", s.got)
		}
		s.got = slices.Delete(s.got, i, i+1)
		return
	}
	s.quiet()
	switch f[0] {
	case "<":
		s.deliver(f[1], f[2:])
	case "verdict":
		if s.verdict.String() != f[1] {
			s.fail("it is %v", s.verdict)
		}
	case "advance", "late":
		d, err := time.ParseDuration(f[1])
		if err != nil {
			s.fail("%v", err)
		}
		if f[0] == "late" {
			s.now += Time(d)
			s.m.Timeout(s.now)
		} else {
			s.advance(s.now + Time(d))
		}
	case "state":
		got := "gone"
		if c := s.m.conns[s.id(f[1])]; c != nil {
			got = c.state.String()
		}
		if got != f[2] {
			s.fail("it is %s", got)
		}
	case "open":
		if got := strconv.Itoa(s.m.HalfOpen()); got != f[1] {
			s.fail("there are %s", got)
		}
	case "displaced":
		if got := strconv.FormatUint(s.m.Counters().Displaced, 10); got != f[1] {
			s.fail("it is %s", got)
		}
	case "ignored":
		if got := strconv.FormatUint(s.m.Counters().Ignored, 10); got != f[1] {
			s.fail("it is %s", got)
		}
	case "backlog":
		var got []string
		for _, id := range s.lids {
			for _, l := range s.m.listeners {
				if l.id == id {
					got = append(got, strconv.Itoa(l.waiting))
				}
			}
		}
		if !slices.Equal(got, f[1:]) {
			s.fail("it is %v", got)
		}
	case "refused":
		if err := s.call(f[1:]); err == nil {
			s.fail("no error")
		}
	default:
		if err := s.call(f); err != nil {
			s.fail("%v", err)
		}
	}
	s.collect()
	s.check()
}

// advance fires every timer at its own time.
func (s *script) advance(to Time) {
	for {
		t, ok := s.m.NextTimeout()
		if !ok || t > to {
			break
		}
		s.now = max(s.now, t)
		s.m.Timeout(s.now)
	}
	s.now = to
	s.m.Timeout(s.now)
}

func (s *script) call(f []string) error {
	plain, named := parse(f[1:])
	var id mad.CommID
	if len(plain) > 0 {
		id = s.id(plain[0])
	}
	var err error
	switch f[0] {
	case "listen":
		ps := mad.PortSpaceTCP
		if len(plain) > 1 {
			ps = mad.PortSpaceUDP
		}
		var l ListenerID
		l, err = s.m.Listen(mad.IPServiceID(ps, uint16(id)), int(int64(named.num("gid", 1<<64-1))),
			int(named.num("backlog", 10)))
		s.lids = append(s.lids, l)
	case "unlisten":
		s.m.StopListening(s.lids[0])
		s.lids = s.lids[1:]
	case "connect":
		_, err = s.m.Connect(s.now, peerNamed("A"), &mad.REQ{
			ServiceID: mad.IPServiceID(mad.PortSpaceTCP, 7), LocalQPN: 0x11, RemoteCMResponseTimeout: 18,
			MaxCMRetries: uint8(named.num("retries", 2)), Primary: mad.Path{LocalACKTimeout: 15},
			PrivateData: make([]byte, named.num("private", 0)),
		})
	case "resolve":
		_, err = s.m.Resolve(s.now, peerNamed("A"), &mad.SIDRREQ{
			ServiceID: mad.IPServiceID(mad.PortSpaceUDP, 7), PrivateData: make([]byte, named.num("private", 0)),
		}, 1e9, 2)
	case "accept":
		err = s.m.Accept(s.now, id, &mad.REP{LocalQPN: 0x11, PrivateData: make([]byte, named.num("private", 0))})
	case "reject":
		err = s.m.Reject(id, mad.RejectConsumerDefined, nil, make([]byte, named.num("private", 0)))
	case "ready":
		err = s.m.Established(s.now, id, make([]byte, named.num("private", 0)))
	case "disconnect":
		err = s.m.Disconnect(s.now, id, make([]byte, named.num("private", 0)))
	case "cancel":
		err = s.m.Cancel(s.now, id)
	case "withdraw":
		err = s.m.AbandonRequest(id)
	case "ignore":
		err = s.m.Ignore(id)
	case "answer":
		err = s.m.Answer(s.now, id, &mad.SIDRREP{QPN: 0x11, QKey: 5,
			PrivateData: make([]byte, named.num("private", 0))})
	case "data":
		s.m.CommEst(s.now, id)
	default:
		s.fail("no such step")
	}
	return err
}

// deliver delivers a message.
func (s *script) deliver(message string, words []string) {
	plain, named := parse(words)
	from := "A"
	if v, ok := named["from"]; ok {
		from = v
	}
	peer := peerNamed(from)
	peer.SGIDIndex = uint8(named.num("gid", 0))
	msg := mad.Message{Attribute: attributeNamed(message), TransactionID: 0xabc}
	l := s.id(plain[0])
	var r mad.CommID
	if len(plain) > 1 {
		r = s.id(plain[1])
	}
	if named["tid"] == "probe" {
		msg.TransactionID = s.m.conns[r].probe
	} else if _, ok := named["tid"]; ok {
		msg.TransactionID = named.num("tid", 0)
	}
	to := r
	if msg.Attribute == mad.AttrSIDRREP {
		to = l
	}
	// An answer returns the transaction ID of the request.
	if c := s.m.conns[to]; c != nil && msg.TransactionID == 0xabc && c.active && !c.remoteKnown {
		msg.TransactionID = c.tid
	}
	guid := mad.GUID(named.num("guid", 0x77))
	qpn := bth.QPN(named.num("qpn", 0x33))
	switch msg.Attribute {
	case mad.AttrREQ:
		msg.REQ = mad.REQ{
			LocalCommID: l,
			ServiceID: mad.IPServiceID(
				mad.PortSpace(named.num("ps", uint64(mad.PortSpaceTCP))), uint16(named.num("port", 7))),
			LocalCAGUID: guid, LocalQPN: qpn, MaxCMRetries: uint8(named.num("retries", 2)),
			LocalCMResponseTimeout: mad.Timeout(named.num("response", 18)),
			Primary:                mad.Path{LocalACKTimeout: mad.Timeout(named.num("ack", 15))},
		}
		if source := uint16(named.num("source", 0)); source != 0 {
			h := mad.IPHeader{SourcePort: source, Source: netip.IPv4Unspecified(), Destination: netip.IPv4Unspecified()}
			var err error
			if msg.REQ.PrivateData, err = h.Append(nil); err != nil {
				s.fail("%v", err)
			}
		}
	case mad.AttrMRA:
		msg.MRA = mad.MRA{LocalCommID: l, RemoteCommID: r, ServiceTimeout: mad.Timeout(named.num("t", 20))}
	case mad.AttrREJ:
		msg.REJ = mad.REJ{LocalCommID: l, RemoteCommID: r,
			Reason: mad.RejectReason(named.num("reason", uint64(mad.RejectConsumerDefined)))}
		if named["guid"] != "" {
			msg.REJ.ARI = []byte{7: byte(guid)}
		}
	case mad.AttrREP:
		msg.REP = mad.REP{LocalCommID: l, RemoteCommID: r, LocalQPN: qpn, LocalCAGUID: guid}
	case mad.AttrRTU:
		msg.RTU = mad.RTU{LocalCommID: l, RemoteCommID: r}
	case mad.AttrDREQ:
		msg.DREQ = mad.DREQ{LocalCommID: l, RemoteCommID: r, RemoteQPN: bth.QPN(named.num("qpn", 0x11))}
	case mad.AttrDREP:
		msg.DREP = mad.DREP{LocalCommID: l, RemoteCommID: r}
	case mad.AttrSIDRREQ:
		msg.SIDRREQ = mad.SIDRREQ{RequestID: l, ServiceID: mad.IPServiceID(
			mad.PortSpace(named.num("ps", uint64(mad.PortSpaceUDP))), uint16(named.num("port", 7)))}
	case mad.AttrSIDRREP:
		msg.SIDRREP = mad.SIDRREP{RequestID: l, QPN: qpn, QKey: 9}
	}
	var b [mad.Len]byte
	if msg.Attribute >= mad.AttrLAP {
		msg.Attribute = mad.AttrRTU
		if err := msg.Encode(&b); err != nil {
			s.fail("%v", err)
		}
		b[17] = byte(mad.AttrLAP)
	} else if err := msg.Encode(&b); err != nil {
		s.fail("%v", err)
	}
	s.verdict = s.m.Receive(s.now, peer, b[:])
	clear(b[:]) // Receive must not retain it
}

// collect converts the manager's output to lines.
func (s *script) collect() {
	for o := (Outgoing{}); s.m.NextSend(&o); {
		var msg mad.Message
		if err := msg.Decode(o.MAD[:]); err != nil {
			s.fail("it sends %v", err)
		}
		s.got = append(s.got, fmt.Sprintf("> %c %s %s", o.Peer.GID[15], msg.Attribute, fields(&msg)))
	}
	for e, left := (Event{}), s.m.Events(); s.m.NextEvent(&e); {
		if left--; s.m.Events() != left {
			s.fail("%d events wait, want %d", s.m.Events(), left)
		}
		l := fmt.Sprintf("event %v %s", e.Kind, name(e.ID))
		switch {
		case e.REJ != nil:
			l += fmt.Sprintf(" REJ %d", e.REJ.Reason)
		case e.DREQ != nil:
			l += " DREQ"
		case e.REP != nil:
			l += fmt.Sprintf(" qpn=%#x", uint32(e.REP.LocalQPN))
		case e.REQ != nil:
			l += fmt.Sprintf(" qpn=%#x", uint32(e.REQ.LocalQPN))
		case e.SIDRREP != nil:
			l += fmt.Sprintf(" qpn=%#x", uint32(e.SIDRREP.QPN))
		}
		s.got = append(s.got, l)
	}
}

func fields(m *mad.Message) string {
	ids := func(l, r mad.CommID) string { return name(l) + " " + name(r) }
	switch m.Attribute {
	case mad.AttrREQ:
		return name(m.REQ.LocalCommID)
	case mad.AttrMRA:
		return ids(m.MRA.LocalCommID, m.MRA.RemoteCommID) + " " + m.MRA.MessageMRAed.String()
	case mad.AttrREJ:
		l := fmt.Sprintf("%s %v %d", ids(m.REJ.LocalCommID, m.REJ.RemoteCommID), m.REJ.MessageRejected, m.REJ.Reason)
		if len(m.REJ.ARI) > 0 {
			l += " ari"
		}
		return l
	case mad.AttrREP:
		return ids(m.REP.LocalCommID, m.REP.RemoteCommID)
	case mad.AttrRTU:
		return ids(m.RTU.LocalCommID, m.RTU.RemoteCommID)
	case mad.AttrDREQ:
		return fmt.Sprintf("%s qpn=%#x", ids(m.DREQ.LocalCommID, m.DREQ.RemoteCommID), uint32(m.DREQ.RemoteQPN))
	case mad.AttrDREP:
		return ids(m.DREP.LocalCommID, m.DREP.RemoteCommID)
	case mad.AttrSIDRREQ:
		return name(m.SIDRREQ.RequestID)
	}
	return name(m.SIDRREP.RequestID) + " " + strconv.Itoa(int(m.SIDRREP.Status))
}

// check compares the manager's tables with each other.
func (s *script) check() {
	s.t.Helper()
	if err := s.m.invariants(); err != nil {
		s.fail("%v", err)
	}
}

// invariants returns an error if a table of the manager is inconsistent.
func (m *Manager) invariants() error {
	half, resting, timed, answered, unanswered := 0, 0, 0, 0, 0
	peers := map[qp.GID]int{}
	waiting := map[*listener]int{}
	for id, c := range m.conns {
		if c.local != id {
			return fmt.Errorf("connection %#x is entered as %#x", c.local, id)
		}
		if c.halfOpen {
			half++
			peers[c.peer.GID]++
		}
		if c.state == StateREPSent {
			answered++
		}
		if c.backlogOf != nil {
			unanswered++
			waiting[c.backlogOf]++
		}
		if c.links[ofTimewait].listed {
			resting++
		}
		if c.heapIndex >= 0 {
			timed++
			if m.timers[c.heapIndex] != c {
				return fmt.Errorf("connection %#x is not where it should be among the timers", id)
			}
		} else if c.state != StateEstablished {
			return fmt.Errorf("connection %#x in state %v has no deadline", id, c.state)
		}
		if rests := c.links[ofTimewait].listed; c.state == StateTimewait != rests && c.state != StateSIDRREPSent {
			return fmt.Errorf("connection %#x in state %v: resting is %v", id, c.state, rests)
		}
	}
	for k, c := range m.requests {
		if m.conns[c.local] != c || c.requestID() != k {
			return fmt.Errorf("the table of requests has a connection that is gone")
		}
		if c.active || c.state == StateEstablished {
			return fmt.Errorf("the table of requests has a connection in state %v, made here: %v", c.state, c.active)
		}
	}
	for k, c := range m.byID {
		if m.conns[c.local] != c || c.remoteID() != k {
			return fmt.Errorf("the table by remote ID has a connection that is gone")
		}
		if c.unproven() {
			return fmt.Errorf("the table by remote ID has a connection in state %v", c.state)
		}
	}
	for k, c := range m.byQPN {
		if m.conns[c.local] != c || c.remoteQPN() != k {
			return fmt.Errorf("the table by remote QPN has a connection that is gone")
		}
		if c.unproven() || c.state == StateTimewait {
			return fmt.Errorf("the table by remote QPN has a connection in state %v", c.state)
		}
	}
	for _, l := range m.listeners {
		of := 0
		for _, n := range l.peers {
			of += n
		}
		if of != l.waiting || l.waiting > 2*l.backlog {
			return fmt.Errorf("%d wait at a listener with a backlog of %d, %d by peer", l.waiting, l.backlog, of)
		}
		if l.waiting != waiting[l] {
			return fmt.Errorf("%d wait at a listener that counts %d", waiting[l], l.waiting)
		}
	}
	of := 0
	for g, p := range m.peers {
		if peers[g] != p.count {
			return fmt.Errorf("peer %v has %d half-open connections, counted are %d", g, peers[g], p.count)
		}
		if err := p.answered.check(func(c *conn) bool {
			return c.halfOpen && c.state == StateREPSent && c.peer.GID == g
		}); err != nil {
			return fmt.Errorf("those of peer %v in REP_SENT: %w", g, err)
		}
		if err := p.waiting.check(func(c *conn) bool { return c.backlogOf != nil && c.peer.GID == g }); err != nil {
			return fmt.Errorf("those of peer %v that wait for the program: %w", g, err)
		}
		of += p.answered.n
		unanswered -= p.waiting.n
	}
	if err := m.half.answered.check(func(c *conn) bool { return c.halfOpen && c.state == StateREPSent }); err != nil {
		return fmt.Errorf("those in REP_SENT: %w", err)
	}
	if unanswered != 0 {
		return fmt.Errorf("%d more wait for the program than are listed by peer", unanswered)
	}
	if of != m.half.answered.n || of != answered {
		return fmt.Errorf("%d are in REP_SENT, listed are %d and by peer %d", answered, m.half.answered.n, of)
	}
	if err := m.timewait.check(func(c *conn) bool { return m.conns[c.local] == c }); err != nil {
		return fmt.Errorf("those that rest: %w", err)
	}
	for g, n := range m.timewait.peers {
		resting -= n
		if n <= 0 || n > m.cfg.MaxTimewaitPeer {
			return fmt.Errorf("peer %v has %d that rest", g, n)
		}
	}
	if resting += m.timewait.n; half != m.half.count || len(peers) != len(m.peers) || resting != m.timewait.n ||
		timed != len(m.timers) {
		return fmt.Errorf("half-open %d counted %d, peers %d counted %d, resting %d counted %d, timed %d of %d",
			half, m.half.count, len(peers), len(m.peers), resting, m.timewait.n, timed, len(m.timers))
	}
	return nil
}

// unproven reports whether the peer has sent only a REQ, which may carry the address of another
// host: see requestID.
func (c *conn) unproven() bool { return c.state == StateREQRcvd || c.state == StateREPSent }

// check walks the list in both directions. Each connection on it must satisfy may.
func (l *list) check(may func(*conn) bool) error {
	n := 0
	var before *conn
	for c := l.first; c != nil; before, c = c, c.links[l.of].after {
		if at := c.links[l.of]; !at.listed || at.before != before || !may(c) {
			return fmt.Errorf("connection %#x in state %v has no place on it", c.local, c.state)
		}
		n++
	}
	if n != l.n || before != l.last {
		return fmt.Errorf("%d are on it, counted are %d", n, l.n)
	}
	return nil
}

// attributeNamed returns the attribute with a name, an invalid one for an unknown name.
func attributeNamed(name string) mad.Attribute {
	a := mad.AttrREQ
	for a.Valid() && a.String() != name {
		a++
	}
	return a
}
