package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// NextRequest returns the next request of the device, or nil if none came within d. Responses are
// skipped, and the request is not answered. A packet that cannot be decoded ends the case.
func (c *Conn) NextRequest(d time.Duration) *wire.Received {
	for end := time.Now().Add(d); ; {
		switch r := c.Next(time.Until(end)); {
		case r == nil:
			return nil
		case r.Err != nil:
			c.t.Fail("a packet came that cannot be decoded: %v", r.Err)
		case r.ICRC == wire.Wrong:
			c.t.Fail("a packet with a wrong ICRC came: %s", Describe(r))
		case r.Opcode.Info().Request():
			return r
		}
	}
}

// ExpectRequest returns the next request of the device, which must match within the timeout;
// otherwise the case fails.
func (c *Conn) ExpectRequest(m Match) *wire.Received {
	r := c.NextRequest(c.t.Timeout())
	switch {
	case r == nil:
		c.t.Fail("%s was expected within %v, no request came", m.What, c.t.Timeout())
	case !m.Is(r):
		c.t.Fail("%s was expected, but came %s", m.What, Describe(r))
	}
	return r
}

// NoRequest fails the case if the device sends a request within the silence time. why says why it
// must not.
func (c *Conn) NoRequest(why string) {
	if r := c.NextRequest(c.t.run.silence()); r != nil {
		c.t.Fail("%s, no request must follow, but came %s", why, Describe(r))
	}
}

// Start lets a client of the device begin its traffic and returns its first requests, at least n in
// order of their PSNs, unanswered and without repetitions. If fewer come, the case is inconclusive.
func (c *Conn) Start(n int) []*wire.Received {
	c.Go()
	var all []*wire.Received
	next, repeated := c.expected, 0
	for len(all) < n {
		r := c.NextRequest(c.t.Timeout())
		if r == nil {
			c.t.Inconclusive("the device sends only %d packets before it waits for an answer", len(all))
		}
		switch d := r.PSN.Diff(next); {
		case d > 0:
			c.t.Inconclusive("the first requests must have PSN %d, but came %s", next, Describe(r))
		case d == 0:
			all, next = append(all, r), next.Add(c.psns(r))
		default:
			if repeated++; repeated > maxQueue {
				c.t.Fail("the device repeats %s without end", Describe(r))
			}
		}
	}
	return all
}

// Idle waits until the device sends no request for d, and returns those that came.
func (c *Conn) Idle(d time.Duration) []*wire.Received {
	var all []*wire.Received
	for size := (held{}); ; {
		r := c.NextRequest(d)
		switch {
		case r == nil:
			return all
		case !size.keep(r):
			c.t.Fail("the device sends %d requests without an answer, and does not stop", len(all))
		}
		all = append(all, r)
	}
}

// ExpectNew returns the next request of the device that is not a repetition of one that was
// executed; it must match within the timeout. Repetitions are answered again.
func (c *Conn) ExpectNew(m Match) *wire.Received {
	repetition := Match{"a repetition", func(r *wire.Received) bool { return r.PSN.Diff(c.expected) < 0 }}
	for limit := 0; ; limit++ {
		r := c.ExpectRequest(Either(m, repetition))
		if r.PSN.Diff(c.expected) >= 0 {
			return r
		}
		if limit > maxQueue {
			c.t.Fail("the device repeats %s without end", Describe(r))
		}
		c.Serve(r)
	}
}

// RequestFrom matches a request with a PSN.
func RequestFrom(psn bth.PSN) Match {
	return Match{fmt.Sprintf("a request with PSN %d", psn), func(r *wire.Received) bool {
		return r.Opcode.Info().Request() && r.PSN == psn
	}}
}

// Op matches a request of an operation.
func Op(ops ...bth.Operation) Match {
	var names []string
	for _, o := range ops {
		names = append(names, o.String())
	}
	return Match{strings.Join(names, " or "), func(r *wire.Received) bool {
		for _, o := range ops {
			if r.Opcode.Info().Op == o {
				return true
			}
		}
		return false
	}}
}

// psns returns the number of PSNs that a request takes.
func (c *Conn) psns(r *wire.Received) uint32 {
	if r.Opcode.Info().Op != bth.OpReadRequest || r.RETH.DMALen == 0 {
		return 1
	}
	return (r.RETH.DMALen-1)/uint32(c.MTU()) + 1
}

// Responses returns the correct responses to a READ request of the device; data is what it reads.
// They carry the MSN after the READ. The case fails if the READ is not one of len(data) bytes.
func (c *Conn) Responses(r *wire.Received, data []byte) []*wire.Packet {
	if r.Opcode.Info().Op != bth.OpReadRequest || uint64(r.RETH.DMALen) != uint64(len(data)) {
		c.t.Fail("a READ of %d bytes was expected, but came %s with DMA length %d", len(data), Describe(r),
			r.RETH.DMALen)
	}
	n, mtu := int(c.psns(r)), c.MTU()
	all := make([]*wire.Packet, n)
	for i := range all {
		p := c.Packet(responseOp(i, n), r.PSN.Add(uint32(i)))
		p.Payload = data[i*mtu : min((i+1)*mtu, len(data))]
		p.Pad = bth.PadFor(len(p.Payload))
		p.AETH = bth.AETH{Syndrome: bth.AckUnlimited, MSN: c.msn + 1}
		all[i] = p
	}
	return all
}

// maxRead limits the READs that Serve answers, in bytes.
const maxRead = 1 << 20

// Serve does what a correct responder does with a request of the device. It reports whether the
// request was the expected one; an earlier one is answered again, and a later one is dropped. READs
// get the bytes of c.Memory, zeroes outside it.
func (c *Conn) Serve(r *wire.Received) bool {
	due := r.PSN == c.expected
	if r.PSN.Diff(c.expected) > 0 {
		return false
	}
	if due {
		c.expected = c.expected.Add(c.psns(r))
	}
	if r.Opcode.Info().Op == bth.OpReadRequest {
		if r.RETH.DMALen > maxRead {
			c.t.Fail("a READ of %d bytes came, which no program has asked for", r.RETH.DMALen)
		}
		data := make([]byte, r.RETH.DMALen)
		if off := r.RETH.VA - c.Local.VA; off < uint64(len(c.Memory)) {
			copy(data, c.Memory[off:])
		}
		for _, p := range c.Responses(r, data) {
			if !due {
				p.AETH.MSN = c.msn
			}
			c.Send(p)
		}
	}
	if due && r.Opcode.Info().Ends() {
		c.msn = (c.msn + 1) & 0xffffff
	}
	if r.AckReq && r.Opcode.Info().Op != bth.OpReadRequest {
		c.Send(c.Ack(c.expected.Sub(1), bth.AckUnlimited))
	}
	return due
}

// Skip counts a request of the device as executed, which the script has answered itself.
func (c *Conn) Skip(r *wire.Received) {
	c.expected = r.PSN.Add(c.psns(r))
	if r.Opcode.Info().Ends() {
		c.msn = (c.msn + 1) & 0xffffff
	}
}

// ServeUntil serves requests until the PSN is expected, and fails the case if the device stops
// before. It returns the requests that were executed.
func (c *Conn) ServeUntil(psn bth.PSN, why string) []*wire.Received {
	var all []*wire.Received
	for limit := 0; c.expected.Diff(psn) < 0; limit++ {
		r := c.NextRequest(c.t.Timeout())
		if r == nil {
			c.t.Fail("%s, the request with PSN %d was expected within %v, no request came", why, c.expected,
				c.t.Timeout())
		}
		if limit > maxQueue {
			c.t.Fail("%s, the device repeats requests without end", why)
		}
		if c.Serve(r) {
			all = append(all, r)
		}
	}
	return all
}

// Expected returns the PSN of the next request of the device that the tester has not executed.
func (c *Conn) Expected() bth.PSN { return c.expected }

// WaitOutput waits until the program's output contains text, or for the timeout, and reports
// whether it does.
func (c *Conn) WaitOutput(text string) bool {
	ctx, cancel := context.WithTimeout(c.t.ctx, c.t.Timeout())
	defer cancel()
	for {
		if strings.Contains(c.Output(), text) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(outputInterval):
		}
	}
}

// outputInterval is the time between two looks at the output of a program.
const outputInterval = 5 * time.Millisecond
