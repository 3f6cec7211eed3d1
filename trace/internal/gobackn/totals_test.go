package gobackn_test

import (
	"fmt"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/internal/gobackn"
)

// totals are the counters of a flow that the truth determines.
type totals struct {
	packets, again, duplicates, before, behind, naks, rnrs, cnps, ce uint64
	window                                                           int
	has                                                              [2]bool // packets from each end
	first                                                            int     // frame
}

// truth returns what the counters of the flow of each connection should be.
func truth(r *gobackn.Result) []totals {
	all := make([]totals, len(r.Conns))
	type view struct {
		open, acked bool
		una, high   bth.PSN
		got         map[*gobackn.Message]int // PSNs of READs and atomics answered in order
		messages    []*gobackn.Message       // of the requester, without those that are acknowledged
		latest      map[bth.PSN]*gobackn.Sent
		behind      map[*gobackn.Sent]bool
		answered    map[bth.PSN]bool
		responded   bool
		newest      bth.PSN
	}
	views := make([]view, 2*len(r.Conns))
	for i := range r.Frames {
		f := &r.Frames[i]
		t := &all[f.Conn.Number]
		t.packets++
		t.has[f.From] = true
		if t.first == 0 {
			t.first = i + 1
		}
		if f.CE {
			t.ce++
		}
		if f.Copy {
			t.duplicates++
			continue
		}
		v := &views[2*f.Conn.Number+f.Requester()]
		if v.latest == nil {
			v.latest, v.behind = map[bth.PSN]*gobackn.Sent{}, map[*gobackn.Sent]bool{}
			v.answered = map[bth.PSN]bool{}
		}
		switch {
		case f.Opcode == bth.CNP:
			t.cnps++
			continue
		case f.Request():
			if v.open && f.PSN.Diff(v.high) < 0 {
				t.again++
			}
			end := f.PSN.Add(1)
			if f.Message.Verb == gobackn.Read {
				end = f.Message.End()
			}
			for p := f.PSN; p != end; p = p.Add(1) {
				v.latest[p] = f.Sent
			}
			if !v.open {
				v.open, v.high = true, end
				if !v.acked {
					v.una = f.PSN
				}
			}
			if end.Diff(v.high) > 0 {
				v.high = end
			}
			t.window = max(t.window, int(v.high.Diff(v.una)))
			continue
		}
		una := f.PSN.Add(1)
		nak := f.Opcode == bth.RCAck && !f.AETH.Syndrome.IsAck()
		if f.Opcode != bth.RCAck || nak {
			una = f.PSN
		}
		if f.Opcode != bth.RCAck {
			if v.answered[f.PSN] || v.responded && f.PSN.Diff(v.newest) < 0 {
				t.again++
			}
			v.answered[f.PSN] = true
			if !v.responded || f.PSN.Diff(v.newest) >= 0 {
				v.responded, v.newest = true, f.PSN.Add(1)
			}
		}
		switch s := f.AETH.Syndrome; {
		case f.Opcode == bth.RCAck && s.IsRNR():
			t.rnrs++
		case f.Opcode == bth.RCAck && s.IsNak():
			t.naks++
			if l := v.latest[una]; l != nil && l.Lost() {
				v.behind[l] = true
			}
		}
		if v.messages == nil {
			v.messages, v.got = f.Conn.Ends[f.Requester()].Messages, map[*gobackn.Message]int{}
			for !v.open && len(v.messages) > 0 && v.messages[0].End().Diff(una) <= 0 {
				v.messages = v.messages[1:] // before the capture
			}
		}
		// A requester that received what was captured, in this order.
		for len(v.messages) > 0 {
			m := v.messages[0]
			if m.Verb.Data() && f.Message == m && f.Opcode != bth.RCAck && f.PSN == m.First.Add(uint32(v.got[m])) {
				v.got[m]++
				una = f.PSN.Add(1)
			}
			if m.Verb.Data() && v.got[m] < m.PSNs {
				if next := m.First.Add(uint32(v.got[m])); next.Diff(una) < 0 {
					una = next
				}
				break
			}
			if m.End().Diff(una) > 0 {
				break
			}
			v.messages = v.messages[1:]
		}
		if !v.acked && !v.open || una.Diff(v.una) > 0 {
			v.una = una
		}
		v.acked = true
	}
	for i := range views {
		all[i/2].behind += uint64(len(views[i].behind))
	}
	countLostBefore(r, all)
	return all
}

// countLostBefore counts the packets that were lost before the capture point and that show as a
// gap: the next captured packet of the same attempt has a newer PSN.
func countLostBefore(r *gobackn.Result, all []totals) {
	type tail struct {
		lost []*gobackn.Sent
		gb   *gobackn.GoBack
		seen bool
	}
	requests := make([]tail, 2*len(r.Conns))
	responses := make([]tail, 2*len(r.Conns))
	for _, s := range r.Sent {
		if s.Opcode == bth.CNP {
			continue
		}
		l := &requests[2*s.Conn.Number+s.From]
		if !s.Request() {
			l = &responses[2*s.Conn.Number+s.From]
		} else if s.GoBack != l.gb {
			if s.GoBack != nil {
				l.lost = nil
			}
			l.gb = s.GoBack
		}
		if s.Captured() == 0 {
			if s.Opcode != bth.RCAck {
				l.lost = append(l.lost, s)
			}
			continue
		}
		for _, p := range l.lost {
			if (s.Request() && l.seen || !s.Request() && s.Message == p.Message) && p.PSN.Before(s.PSN) {
				all[s.Conn.Number].before++
			}
		}
		l.lost, l.seen = nil, true
	}
}

// totals compares the flows.
func (j *judge) totals() {
	want := truth(j.r)
	type end struct {
		addr string
		qpn  bth.QPN
	}
	ends := map[end]int{}
	for _, c := range j.r.Conns {
		for _, e := range c.Ends {
			ends[end{address(e.Host).String(), e.QPN}] = c.Number
		}
	}
	count := make([]int, len(j.r.Conns))
	for _, f := range j.final {
		conn := -1
		for _, e := range f.Ends {
			if e.QPN == 0 {
				continue
			}
			n, ok := ends[end{e.Addr.String(), e.QPN}]
			switch {
			case !ok:
				j.note("flow of an unknown queue pair", 1)
			case conn >= 0 && n != conn:
				j.note("PAIRED WRONGLY", 1)
				conn = -2
			case conn != -2:
				conn = n
			}
		}
		if conn < 0 {
			continue
		}
		w := &want[conn]
		count[conn]++
		if both := f.Ends[0].QPN != 0 && f.Ends[1].QPN != 0; !both {
			if w.has[0] && w.has[1] {
				j.note("not paired", 1)
			}
			continue
		}
		j.compare(f, w)
	}
	j.compareMessages()
	for n, c := range count {
		if c > 1 {
			j.note("several flows of a connection", 1)
		} else if c == 0 && want[n].packets > 0 {
			j.note("no flow of a connection", 1)
		}
	}
}

func (j *judge) compare(f *trace.Flow, w *totals) {
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"packets", f.Packets, w.packets}, {"again", f.Again, w.again}, {"duplicates", f.Duplicates, w.duplicates},
		{"lost before", f.LostBefore, w.before}, {"lost behind", f.LostBehind, w.behind}, {"NAKs", f.NAKs, w.naks},
		{"RNRs", f.RNRs, w.rnrs}, {"CNPs", f.CNPs, w.cnps}, {"CE", f.CE, w.ce},
		{"window", uint64(f.Window), uint64(w.window)},
	} {
		switch {
		case c.got == c.want:
			j.note("flow: "+c.name+" right", 1)
		case c.got < c.want:
			j.example(f, w, fmt.Sprintf("flow: %s too low", c.name), c.got, c.want)
		default:
			j.example(f, w, fmt.Sprintf("flow: %s too high", c.name), c.got, c.want)
		}
	}
}

// example reports a wrong counter with all packets of the flow.
func (j *judge) example(f *trace.Flow, w *totals, what string, got, want uint64) {
	j.note(what, 1)
	if j.show == nil || j.bad[what] > 1 {
		return
	}
	j.show(fmt.Sprintf("seed %d: %s: %d, truth %d\n%s", j.r.Config.Seed, what, got, want,
		j.dump(j.r.Frames[w.first-1].Conn, func(*gobackn.Frame) bool { return true }, 0, len(j.r.Frames))))
}

// compareMessages compares the messages of paired flows.
func (j *judge) compareMessages() {
	type key struct {
		addr  string
		qpn   bth.QPN // of the responder
		first bth.PSN
	}
	got := map[key][]*trace.Message{}
	for _, m := range j.messages {
		e := m.Flow.Ends[1-m.From]
		if m.Flow.Ends[0].QPN != 0 && m.Flow.Ends[1].QPN != 0 {
			k := key{e.Addr.String(), e.QPN, m.First}
			got[k] = append(got[k], m)
		}
	}
	earliest := map[*gobackn.Message]int{} // first frame
	seen := map[*gobackn.Message]int{}     // the same, if its first packet was captured
	for i := range j.r.Frames {
		f := &j.r.Frames[i]
		if m := f.Message; f.Request() && earliest[m] == 0 {
			earliest[m] = i + 1
		}
		if m := f.Message; f.Request() && f.PSN == m.First && seen[m] == 0 {
			seen[m] = earliest[m]
		}
	}
	for _, c := range j.r.Conns {
		for e := range c.Ends {
			to := c.Ends[1-e]
			for _, m := range c.Ends[e].Messages {
				all := got[key{address(to.Host).String(), to.QPN, m.First}]
				if seen[m] == 0 {
					continue
				}
				j.compareMessage(c, e, m, all, seen[m])
			}
		}
	}
}

func (j *judge) compareMessage(c *gobackn.Conn, e int, m *gobackn.Message, all []*trace.Message, first int) {
	what := "message: right"
	by := m.By.Captured()
	switch {
	case len(all) == 0:
		what = "message: missing"
	case len(all) > 1:
		what = "message: several"
	case !all[0].Done && by > 0:
		what = "message: not done"
	case by == 0 || m.By.Delivered == 0:
		what = "message: answer not captured"
	default:
		d := all[0].End.Sub(began).Nanoseconds() - j.r.Frames[by-1].Time
		switch {
		case d > 0:
			what = "message: done too late"
		case d < 0:
			what = "message: done early, by an answer that was lost"
		case all[0].Bytes != uint64(m.Len):
			what = "message: wrong length"
		case all[0].Begin.Sub(began).Nanoseconds() != j.r.Frames[first-1].Time && !all[0].Partial:
			what = "message: wrong begin"
		}
	}
	j.note(what, 1)
	const early = "message: done early, by an answer that was lost"
	if what == "message: right" || what == early || j.show == nil || j.bad[what] > 1 {
		return
	}
	mine := func(f *gobackn.Frame) bool { return f.Requester() == e }
	j.show(fmt.Sprintf("seed %d: %s: first PSN %d, frame %d, answer in frame %d\n%s", j.r.Config.Seed, what, m.First,
		first, by, j.dump(c, mine, max(0, first-600), max(by, first))))
}
