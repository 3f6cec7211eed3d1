package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance/wire"
)

// Conn is a queue pair of the tester, connected to one of the device.
type Conn struct {
	Target Target
	Local  Local
	PSN    bth.PSN // of the next request that Request makes
	// AutoAck makes the tester acknowledge requests of the device while a script waits for a
	// response. It is set in a new Conn.
	AutoAck bool
	// Memory is what READs of the device get at the address Local.VA: see Serve.
	Memory []byte

	t       *T
	program Program
	peer    Peer
	cm      *cmConn // nil without rdma_cm
	in      chan *wire.Received
	waiting atomic.Int64 // bytes of the packets in in
	flooded atomic.Bool
	// requests are those that came while the script waited for a response.
	requests               []*wire.Received
	cnps                   []*wire.Received
	requestsSize, cnpsSize held    // sizes of requests and cnps
	expected               bth.PSN // of the next request of the device
	msn                    uint32
}

// maxQueue is the maximum number of received packets that wait for the script or that it keeps, and
// maxQueueBytes that of their bytes. More are a flood.
const (
	maxQueue      = 1 << 14
	maxQueueBytes = 64 << 20
)

func newConn(t *T, p Program, local Local) *Conn {
	return &Conn{t: t, program: p, Local: local, PSN: local.PSN, AutoAck: true, in: make(chan *wire.Received, maxQueue)}
}

// deliver passes r, which the link received, to the script.
func (c *Conn) deliver(r *wire.Received) {
	n := int64(sizeOf(r))
	if c.waiting.Add(n) <= maxQueueBytes {
		select {
		case c.in <- r:
			return
		default:
		}
	}
	c.waiting.Add(-n)
	c.flooded.Store(true)
}

// Go lets the client program begin its traffic.
func (c *Conn) Go() {
	if err := c.peer.Go(); err != nil {
		c.t.noStart("%v: %v", c.program, err)
	}
}

// Output returns what the program has printed so far; see [Peer].
func (c *Conn) Output() string { return c.peer.Output() }

// OutputEnd returns the end of Output, up to 200 bytes.
func (c *Conn) OutputEnd() string { return tail(c.Output()) }

func tail(output string) string { return strings.TrimSpace(output[max(0, len(output)-200):]) }

// Request returns a request with the PSN of c, which it does not change: all fields that a correct
// requester sets are set, and AckReq. The caller completes the extension headers and the payload.
func (c *Conn) Request(op bth.Opcode) *wire.Packet {
	p := c.Packet(op, c.PSN)
	p.AckReq = true
	return p
}

// Packet returns a packet with a PSN.
func (c *Conn) Packet(op bth.Opcode, psn bth.PSN) *wire.Packet {
	return &wire.Packet{Packet: bth.Packet{Opcode: op, MigReq: true, PKey: 0xffff, DestQP: c.Target.QPN, PSN: psn}}
}

// Write returns a WRITE ONLY of data to offset off of the device's region.
func (c *Conn) Write(off uint64, data []byte) *wire.Packet {
	p := c.Request(bth.RCWriteOnly)
	p.RETH = bth.RETH{VA: c.Target.VA + off, RKey: c.Target.RKey, DMALen: uint32(len(data))}
	p.Payload = data
	return p
}

// Read returns a READ request for n bytes from offset off of the device's region.
func (c *Conn) Read(off uint64, n uint32) *wire.Packet {
	p := c.Request(bth.RCReadRequest)
	p.RETH = bth.RETH{VA: c.Target.VA + off, RKey: c.Target.RKey, DMALen: n}
	return p
}

// FetchAdd returns a fetch and add at offset off of the device's region.
func (c *Conn) FetchAdd(off, add uint64) *wire.Packet {
	p := c.Request(bth.RCFetchAdd)
	p.AtomicETH = bth.AtomicETH{VA: c.Target.VA + off, RKey: c.Target.RKey, SwapAdd: add}
	return p
}

// Message returns a SEND ONLY of data.
func (c *Conn) Message(data []byte) *wire.Packet {
	p := c.Request(bth.RCSendOnly)
	p.Payload = data
	return p
}

// Send sends p and returns the time.
func (c *Conn) Send(p *wire.Packet) time.Time { return c.t.send(c.Target.Addr, p) }

// Next returns the next packet that came for c. It returns nil if none came within d, or if the
// device has ended the connection with a DREQ, which is answered.
func (c *Conn) Next(d time.Duration) *wire.Received {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		select {
		case r := <-c.in:
			c.waiting.Add(-int64(sizeOf(r)))
			return r
		case r := <-c.strays():
			c.cm.gsi.keep(r)
		case <-timer.C:
			if c.flooded.Load() {
				c.t.Inconclusive("the device floods the tester: more than %d packets or %d MiB waited", maxQueue,
					maxQueueBytes>>20)
			}
			return nil
		case <-c.t.ctx.Done():
			c.t.Inconclusive("the time for one case is over: %v", context.Cause(c.t.ctx))
		}
		if c.cm.disconnected() && len(c.in) == 0 {
			return nil
		}
	}
}

// strays returns the channel of messages to queue pair 1 while c is connected with rdma_cm.
func (c *Conn) strays() chan *wire.Received {
	if c.cm == nil || c.cm.ended {
		return nil
	}
	return c.t.run.strays
}

// Response returns the next response that came for c, or nil if none came within d. Requests of
// the device that come before it are acknowledged, unless AutoAck is off, and kept for
// [Conn.Requests]. Congestion notification packets are kept for [Conn.CNPs]: they are no response.
func (c *Conn) Response(d time.Duration) *wire.Received {
	for end := time.Now().Add(d); ; {
		r := c.Next(time.Until(end))
		if r != nil && r.Err == nil && r.Opcode == bth.CNP {
			if c.cnpsSize.keep(r) {
				c.cnps = append(c.cnps, r)
			}
			continue
		}
		if r == nil || r.Err != nil || !r.Opcode.Info().Request() {
			return r
		}
		if c.requestsSize.keep(r) {
			c.requests = append(c.requests, r)
		}
		if c.AutoAck {
			c.Acknowledge(r)
		}
	}
}

// Requests returns the requests of the device that Response kept.
func (c *Conn) Requests() []*wire.Received { return c.requests }

// CNPs returns the congestion notification packets that Response kept since the last call.
func (c *Conn) CNPs() []*wire.Received {
	all := c.cnps
	c.cnps, c.cnpsSize = nil, held{}
	return all
}

// Acknowledge answers a request of the device as a responder does: see [Conn.Serve].
func (c *Conn) Acknowledge(r *wire.Received) {
	if r.Opcode.Info().Service == bth.ServiceRC {
		c.Serve(r)
	}
}

// Ack returns an acknowledgement or NAK with the MSN of the tester's end.
func (c *Conn) Ack(psn bth.PSN, s bth.Syndrome) *wire.Packet {
	p := c.Packet(bth.RCAck, psn)
	p.AETH = bth.AETH{Syndrome: s, MSN: c.msn}
	return p
}

// Match is a condition for a received packet.
type Match struct {
	What string // what is expected, such as "an ACK of PSN 5"
	Is   func(r *wire.Received) bool
}

// Expect returns the next response, which must match within the timeout; otherwise the case fails.
func (c *Conn) Expect(m Match) *wire.Received {
	return c.expect(m, func(*wire.Received) bool { return false })
}

// expect is Expect for the next response that skip does not match.
func (c *Conn) expect(m Match, skip func(r *wire.Received) bool) *wire.Received {
	for end := time.Now().Add(c.t.Timeout()); ; {
		r := c.Response(time.Until(end))
		switch {
		case r == nil:
			c.t.Fail("%s was expected within %v, nothing came", m.What, c.t.Timeout())
		case r.Err != nil:
			c.t.Fail("%s was expected, a packet came that cannot be decoded: %v", m.What, r.Err)
		case r.ICRC == wire.Wrong:
			c.t.Fail("%s was expected, a packet with a wrong ICRC came: %s", m.What, Describe(r))
		case skip(r):
			continue
		case !m.Is(r):
			c.t.Fail("%s was expected, but came %s", m.What, Describe(r))
		}
		return r
	}
}

// Quiet fails the case if a response comes within the silence time. why says what must not be
// answered.
func (c *Conn) Quiet(why string) {
	if r := c.Response(c.t.run.silence()); r != nil {
		c.t.Fail("%s must not be answered, but came %s", why, Describe(r))
	}
}

// probe sends p, a correct request, and waits for a response that matches. If none comes, it calls
// otherwise, which ends the case.
func (c *Conn) probe(p *wire.Packet, m Match, otherwise func(format string, args ...any)) *wire.Received {
	c.Send(p)
	r := c.Response(c.t.Timeout())
	switch {
	case r == nil:
		otherwise("%s was expected, nothing came", m.What)
	case r.Err != nil || !m.Is(r):
		otherwise("%s was expected, but came %s", m.What, Describe(r))
	}
	return r
}

// valid returns a correct request for the program, the condition for its response, and the number
// of PSNs that it takes.
func (c *Conn) valid() (*wire.Packet, Match) {
	switch c.program {
	case ReadServer:
		return c.Read(0, 8), DataOf(c.PSN, bth.RCReadResponseOnly)
	case AtomicServer:
		return c.FetchAdd(0, 0), DataOf(c.PSN, bth.RCAtomicAck)
	case WriteServer, WriteServerTClass:
		return c.Write(0, make([]byte, 8)), AckFrom(c.PSN)
	default:
		return c.Message(make([]byte, 8)), AckFrom(c.PSN)
	}
}

// Control sends a correct request, whose response shows that the connection works. If there is
// none, the case is inconclusive.
func (c *Conn) Control() *wire.Received {
	p, m := c.valid()
	r := c.probe(p, m, func(format string, args ...any) {
		c.t.Inconclusive("before the test: "+format, args...)
	})
	c.PSN = c.PSN.Add(1)
	return r
}

// Alive sends a correct request with the PSN of c. If there is no response, the case fails: the
// device must still work after why. It may have kept requests that came early, and acknowledge them
// with this one.
func (c *Conn) Alive(why string) *wire.Received {
	p, m := c.valid()
	r := c.probe(p, m, func(format string, args ...any) {
		c.t.Fail("after "+why+", a correct request must be executed: "+format, args...)
	})
	c.PSN = c.PSN.Add(1)
	return r
}

// Dead fails the case if the device answers a correct request: its queue pair must be in the error
// state after why.
func (c *Conn) Dead(why string) {
	p, _ := c.valid()
	c.Send(p)
	c.Quiet(fmt.Sprintf("a request after %s", why))
}
