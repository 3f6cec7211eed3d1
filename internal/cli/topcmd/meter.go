package topcmd

import (
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
)

const (
	// maxRows is the maximum number of flows that a meter follows: those of the analyzer (the
	// default of trace.Options.Flows) and as many that ended in the interval.
	maxRows = 2 * 16384
	// keepIdle is the number of intervals for which a flow without packets is shown.
	keepIdle = 10
)

// counts are the totals of a flow's packets.
type counts struct {
	packets, bytes uint64 // bytes from BTH to ICRC
	data           uint64 // packets except acknowledgements, CNPs and CM messages
	again          uint64 // retransmitted packets in data
	payload        uint64 // payload bytes in data, without retransmissions
	naks, rnrs     uint64 // NAKs without RNR NAKs; RNR NAKs
	cnps, ce       uint64 // congestion notifications; packets marked Congestion Experienced
	errors         uint64 // findings of level Error, wrong ICRCs and packets that cannot be decoded
	timeouts       uint64 // of Flow.Timeouts
	rtts           uint64 // RTT samples
	rttSum         time.Duration
}

// minus returns c - d. A total that went back, because of a merge, is 0.
func (c counts) minus(d counts) counts {
	sub := func(a, b uint64) uint64 {
		if a < b {
			return 0
		}
		return a - b
	}
	return counts{
		packets: sub(c.packets, d.packets), bytes: sub(c.bytes, d.bytes), data: sub(c.data, d.data),
		again: sub(c.again, d.again), payload: sub(c.payload, d.payload), naks: sub(c.naks, d.naks),
		rnrs: sub(c.rnrs, d.rnrs), cnps: sub(c.cnps, d.cnps), ce: sub(c.ce, d.ce), errors: sub(c.errors, d.errors),
		timeouts: sub(c.timeouts, d.timeouts), rtts: sub(c.rtts, d.rtts), rttSum: max(0, c.rttSum-d.rttSum),
	}
}

// plus returns c + d.
func (c counts) plus(d counts) counts {
	return counts{
		packets: c.packets + d.packets, bytes: c.bytes + d.bytes, data: c.data + d.data, again: c.again + d.again,
		payload: c.payload + d.payload, naks: c.naks + d.naks, rnrs: c.rnrs + d.rnrs, cnps: c.cnps + d.cnps,
		ce: c.ce + d.ce, errors: c.errors + d.errors, timeouts: c.timeouts + d.timeouts, rtts: c.rtts + d.rtts,
		rttSum: c.rttSum + d.rttSum,
	}
}

// count adds p.
func (c *counts) count(p *trace.Packet) {
	c.packets++
	c.bytes += uint64(p.Len)
	if p.IP.CE() {
		c.ce++
	}
	if p.Err != nil {
		c.errors++
		return
	}
	for i := range p.Findings {
		if p.Findings[i].Level == trace.Error {
			c.errors++
			break
		}
	}
	switch p.Role {
	case trace.Request, trace.Response, trace.Datagram:
		c.data++
		if p.Again {
			c.again++
		} else {
			c.payload += uint64(p.PayloadLen())
		}
	case trace.CNP:
		c.cnps++
	}
	if p.BTH.Opcode.Info().Headers&bth.HasAETH != 0 {
		switch s := p.BTH.AETH.Syndrome; {
		case s.IsRNR():
			c.rnrs++
		case s.IsNak():
			c.naks++
		}
	}
}

// row is a flow that a meter follows.
type row struct {
	flow          *trace.Flow
	total, before counts // up to now; up to the latest snapshot
	idle          int    // consecutive intervals without a packet
	ended         bool
}

// meter counts the packets of each flow. It is an output of a trace.Pipeline.
type meter struct {
	rows    map[*trace.Flow]*row
	ignored uint64 // packets of flows beyond maxRows
	seen    uint64 // flows so far
	failed  uint64 // flows that have failed and are no longer in rows
	skipped bool   // a row was not added in this interval, so that forgetting idle ones was tried
}

func newMeter() *meter { return &meter{rows: map[*trace.Flow]*row{}} }

// Packet counts p in its flow.
func (m *meter) Packet(p *trace.Packet) error {
	if p.Flow == nil {
		return nil
	}
	r := m.rows[p.Flow]
	if r == nil {
		if r = m.add(p.Flow); r == nil {
			m.ignored++
			return nil
		}
	}
	r.total.count(p)
	return nil
}

// add returns a new row, or nil if there are maxRows.
func (m *meter) add(f *trace.Flow) *row {
	if len(m.rows) >= maxRows {
		if m.skipped {
			return nil
		}
		m.skipped = true
		for _, r := range m.rows {
			if r.ended || r.idle > 0 {
				m.remove(r)
			}
		}
		if len(m.rows) >= maxRows {
			return nil
		}
	}
	r := &row{flow: f}
	m.rows[f] = r
	m.seen++
	return r
}

func (m *meter) remove(r *row) {
	if r.flow.Err != "" {
		m.failed++
	}
	delete(m.rows, r.flow)
}

// Flow marks the row of a flow that ended: the next snapshot is its last.
func (m *meter) Flow(f *trace.Flow) error {
	if r := m.rows[f]; r != nil {
		r.ended = true
	}
	return nil
}

// merged moves what was counted for from to into.
func (m *meter) merged(into, from *trace.Flow) {
	r := m.rows[from]
	if r == nil {
		return
	}
	delete(m.rows, from)
	m.seen--
	to := m.rows[into]
	if to == nil {
		if to = m.add(into); to == nil {
			return
		}
	}
	to.total, to.before = to.total.plus(r.total), to.before.plus(r.before)
}

// sample is the latest interval of a flow.
type sample struct {
	flow   trace.Flow // as it was at the end of the interval
	counts            // of the interval
}

// table is what a meter measured in an interval.
type table struct {
	samples []sample
	sum     counts        // of all samples
	over    time.Duration // length of the interval
	flows   uint64        // flows since the begin
	failed  uint64        // flows of these that failed
	ignored uint64        // packets since the begin of flows beyond maxRows
}

// snapshot returns the flows that had packets in the latest keepIdle intervals, with the counts of
// the interval that ends now, whose length is over. It begins the next interval.
func (m *meter) snapshot(over time.Duration) *table {
	m.skipped = false
	t := &table{over: over, flows: m.seen, failed: m.failed, ignored: m.ignored}
	for _, r := range m.rows {
		f := r.flow
		r.total.timeouts = f.Timeouts
		r.total.rtts, r.total.rttSum = uint64(f.RTT.Count), f.RTT.Sum
		s := sample{*f, r.total.minus(r.before)}
		r.before = r.total
		if r.idle++; s.packets > 0 {
			r.idle = 0
		}
		if f.Err != "" {
			t.failed++
		}
		t.sum = t.sum.plus(s.counts)
		t.samples = append(t.samples, s)
		if r.ended || r.idle >= keepIdle {
			m.remove(r)
		}
	}
	return t
}
