package cases

import (
	"slices"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// Values of the ECN field (RFC 3168).
const (
	ect1 = 1
	ect0 = 2
	ce   = 3
)

const (
	noCNP  = "the device sends no CNP for marked packets: congestion management is optional (IBA A17.9.3)"
	cnpLen = bth.BTHLen + bth.CNPReservedLen + bth.ICRCLen // bytes of UDP payload

	// A sender obeys CNPs if a READ takes at least slowdown times as long as before, and has
	// recovered when it takes less than recovery times as long.
	slowdown, recovery = 4, 2
	measuredReads      = 30    // READs of a measurement
	measuredLen        = 32768 // bytes of each
	maxRecovery        = 5 * time.Second

	marks              = 64 // marked packets that should cause a CNP
	floodTime          = 300 * time.Millisecond
	maxIntervalSamples = 10000
)

// congestion are the rules of congestion management (IBA A17.9.3).
var congestion = []conformance.Case{
	{
		ID: "congestion/1", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A request that is marked as congestion experienced is executed.",
		Source: "IBA A17.9.3; RFC 3168, 5",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, ecn := range []uint8{ect1, ect0, ce} {
				if _, acked := marked(t, c, ecn, 4); acked < 4 {
					t.Fail("requests with ECN field %02b must be executed; %d of 4 were acknowledged", ecn, acked)
				}
			}
		},
	},
	{
		ID: "congestion/2", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule: "A CNP has opcode 0x81, PSN 0, SE 0, M 0, BECN 1, the P_Key of the marked packet and the queue pair of its " +
			"sender.",
		Source: "IBA CA17-44, figure 6",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range needCNPs(t, c) {
				if r.PSN != 0 || r.Solicited || r.MigReq || !r.BECN || r.FECN || r.AckReq || r.PKey != 0xffff ||
					r.Version != 0 || r.Pad != 0 || r.ICRC == wire.Wrong {
					t.Fail("the CNP is % x", r.Bytes)
				}
			}
		},
	},
	{
		ID: "congestion/3", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A CNP ends with 16 bytes of zero and the ICRC.",
		Source: "IBA CA17-44, figure 6",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, r := range needCNPs(t, c) {
				if len(r.Bytes) != cnpLen || slices.Max(r.Bytes[bth.BTHLen:cnpLen-bth.ICRCLen]) != 0 {
					t.Fail("the CNP is % x", r.Bytes)
				}
			}
		},
	},
	{
		ID: "congestion/4", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "Packets that are not marked as congestion experienced get no CNP.",
		Source: "IBA CA17-44; RFC 3168, 5",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, ecn := range []uint8{0, ect1, ect0} {
				if cnps, _ := marked(t, c, ecn, 16); len(cnps) > 0 {
					t.Fail("packets with ECN field %02b got a CNP", ecn)
				}
			}
		},
	},
	{
		ID: "congestion/5", Level: conformance.Observed, Program: conformance.WriteServer,
		Rule:   "Time between CNPs of one connection while all packets are marked.",
		Source: "IBA A17.9.3; Lumina, cnp_check",
		Run:    cnpIntervals,
	},
	{
		ID: "congestion/6", Level: conformance.Shall, Program: conformance.ReadServer,
		Rule:   "A sender that gets CNPs sends slower: here the responder of READs.",
		Source: "IBA CA17-45",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			before, during := slowed(t, c)
			t.Sample("READ before CNPs", "µs", micros(before))
			t.Sample("READ during CNPs", "µs", micros(during))
			if during < slowdown*before {
				t.Unsupported("READs of %d bytes take %v before and %v during CNPs: the device does not reduce the rate of READ "+
					"responses", measuredLen, before, during)
			}
		},
	},
	{
		ID: "congestion/7", Level: conformance.Should, Program: conformance.ReadServer,
		Rule:   "After the last CNP, the rate of a sender increases again.",
		Source: "IBA CA17-46",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			before, during := slowed(t, c)
			if during < slowdown*before {
				t.Unsupported("the device does not reduce the rate of READ responses")
			}
			for begin := time.Now(); time.Since(begin) < maxRecovery; {
				if readTime(t, c) < recovery*before {
					t.Sample("time to recover", "ms", float64(time.Since(begin).Milliseconds()))
					return
				}
			}
			t.Fail("%v after the last CNP, READs still take over %d times their time before", maxRecovery, recovery)
		},
	},
	{
		ID: "congestion/8", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A CNP for a queue pair that does not exist is ignored.",
		Source: "IBA A17.9.3, 9.6.1.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			p := cnp(c)
			p.DestQP ^= 0x7ff000
			c.Send(p)
			c.Quiet("a CNP for an unknown queue pair")
			c.Alive("a CNP for an unknown queue pair")
		},
	},
	{
		ID: "congestion/9", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A CNP is not answered, and a receiver ignores its PSN and the 16 bytes: the next request is executed.",
		Source: "IBA A17.9.3, figure 6",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for _, psn := range []bth.PSN{0, c.PSN, c.PSN.Add(1), c.PSN.Add(1 << 22)} {
				p := cnp(c)
				p.PSN, p.AckReq = psn, true
				p.Edit = func(b []byte) []byte {
					for i := bth.BTHLen; i < len(b); i++ {
						b[i] = 0xa5
					}
					return b
				}
				c.Send(p)
			}
			c.Quiet("a CNP")
			c.Alive("CNPs")
		},
	},
	{
		ID: "congestion/10", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "An invalid CNP is dropped silently: one that is cut, or has a wrong ICRC or P_Key.",
		Source: "IBA CA17-24, 9.6.1",
		Run: func(t *conformance.T) {
			c := t.Connect()
			c.Control()
			for n := range bth.CNPReservedLen / 4 {
				p := cnp(c)
				p.Edit = func(b []byte) []byte { return b[:bth.BTHLen+4*n] }
				c.Send(p)
			}
			p, q := cnp(c), cnp(c)
			p.Damage = func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
			q.PKey = 0x1234
			c.Send(p)
			c.Send(q)
			c.Quiet("an invalid CNP")
			c.Alive("invalid CNPs")
		},
	},
}

// cnp returns a CNP as figure 6 of annex A17 shows it.
func cnp(c *conformance.Conn) *wire.Packet {
	p := c.Packet(bth.CNP, 0)
	p.MigReq, p.BECN = false, true
	return p
}

// marked sends n WRITEs with an ECN field, and returns the CNPs that came and the number of WRITEs
// that were acknowledged.
func marked(t *conformance.T, c *conformance.Conn, ecn uint8, n int) (cnps []*wire.Received, acked int) {
	for ; acked < n; acked++ {
		p := c.Write(0, make([]byte, 8))
		p.TOS = ecn
		c.Send(p)
		r := c.Response(t.Timeout())
		if r == nil {
			break
		}
		if m := conformance.AckFrom(p.PSN); !m.Is(r) {
			t.Fail("a marked WRITE must be acknowledged, but came %s", conformance.Describe(r))
		}
		c.PSN = c.PSN.Add(1)
	}
	return c.CNPs(), acked
}

// cnpsFor returns the CNPs for packets that are marked.
func cnpsFor(t *conformance.T, c *conformance.Conn) []*wire.Received {
	cnps, _ := marked(t, c, ce, marks)
	if len(cnps) == 0 {
		c.Quiet("a WRITE that was acknowledged") // a CNP may come after the last acknowledgement
		cnps = c.CNPs()
	}
	return cnps
}

// needCNPs returns the CNPs for packets that are marked; without one the case is unsupported.
func needCNPs(t *conformance.T, c *conformance.Conn) []*wire.Received {
	cnps := cnpsFor(t, c)
	if len(cnps) == 0 {
		t.Unsupported(noCNP)
	}
	return cnps
}

// cnpIntervals measures the time between CNPs.
func cnpIntervals(t *conformance.T) {
	c := t.Connect()
	c.Control()
	all := needCNPs(t, c)
	for begin := time.Now(); time.Since(begin) < floodTime && len(all) < maxIntervalSamples; {
		more, _ := marked(t, c, ce, marks)
		all = append(all, more...)
	}
	if len(all) < 2 {
		t.Observe("one CNP within %v", floodTime)
		return
	}
	for i := range all[1:] {
		t.Sample("time between CNPs", "µs", micros(all[i+1].At.Sub(all[i].At)))
	}
	t.Observe("%d CNPs", len(all))
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// slowed returns the median time of a READ before CNPs and the lower quartile during them: a busy
// host slows some READs, a sender that obeys CNPs nearly all.
func slowed(t *conformance.T, c *conformance.Conn) (before, during time.Duration) {
	before = readTime(t, c)
	times := readTimes(t, c, func() { c.Send(cnp(c)) })
	return before, times[len(times)/4]
}

// readTime returns the median time of READs.
func readTime(t *conformance.T, c *conformance.Conn) time.Duration {
	times := readTimes(t, c, nil)
	return times[len(times)/2]
}

// readTimes returns the sorted times of READs, one after the other. each is called before each of
// them.
func readTimes(t *conformance.T, c *conformance.Conn, each func()) []time.Duration {
	var times []time.Duration
	for range measuredReads {
		if each != nil {
			each()
		}
		p := c.Read(0, measuredLen)
		begin := c.Send(p)
		responses := measuredLen / c.MTU()
		for i := range responses {
			r := c.Response(t.Timeout())
			if r == nil || r.Err != nil || r.PSN != c.PSN.Add(uint32(i)) {
				t.Inconclusive("response %d of %d to a READ was lost", i+1, responses)
			}
		}
		times = append(times, time.Since(begin))
		c.PSN = c.PSN.Add(uint32(responses))
	}
	slices.Sort(times)
	return times
}
