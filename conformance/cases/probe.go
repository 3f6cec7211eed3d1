package cases

import (
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/wire"
)

// unanswered connects, sends a WRITE that change makes invalid, and fails the case if the device
// answers it, or does not execute a correct WRITE afterwards.
func unanswered(t *conformance.T, what string, change func(p *wire.Packet)) {
	c := t.Connect()
	c.Control()
	silentOn(c, what, change)
}

// silentOn is unanswered on a connection.
func silentOn(c *conformance.Conn, what string, change func(p *wire.Packet)) {
	p := c.Write(0, make([]byte, 8))
	change(p)
	c.Send(p)
	c.Quiet(what)
	c.Alive(what)
}

// executedOn sends a WRITE that change makes unusual, and fails the case if the device does not
// acknowledge it.
func executedOn(t *conformance.T, c *conformance.Conn, what string, change func(p *wire.Packet)) {
	if !acknowledged(t, c, change) {
		t.Fail("%s must be executed, but was not acknowledged", what)
	}
}

// acknowledged reports whether the device acknowledges a WRITE after change. It fails the case if
// the device answers something else, or does not execute a correct WRITE afterwards.
func acknowledged(t *conformance.T, c *conformance.Conn, change func(p *wire.Packet)) bool {
	p := c.Write(0, make([]byte, 8))
	change(p)
	c.Send(p)
	r := c.Response(t.Timeout())
	m := conformance.AckFrom(p.PSN)
	if r != nil && !m.Is(r) {
		t.Fail("%s was expected, but came %s", m.What, conformance.Describe(r))
	}
	if r != nil {
		c.PSN = c.PSN.Add(1)
	}
	c.Alive("an unusual packet")
	return r != nil
}

// observe reports whether the device executes a WRITE after change.
func observe(t *conformance.T, what string, change func(p *wire.Packet)) {
	c := t.Connect()
	c.Control()
	if acknowledged(t, c, change) {
		t.Observe("%s is executed", what)
	} else {
		t.Observe("%s is dropped", what)
	}
}

// replies sends n WRITEs, each after the acknowledgement of the one before, and returns the
// acknowledgements.
func replies(c *conformance.Conn, n int) (all []*wire.Received) {
	for range n {
		all = append(all, c.Alive("correct requests"))
	}
	return all
}

// replies4 is replies of a device with an IPv4 address; others do not run the case.
func replies4(t *conformance.T, n int) []*wire.Received {
	c := t.Connect()
	if !c.Target.Addr.Is4() {
		t.NotRun("the device has an IPv6 address, the rule is about IPv4")
	}
	first := c.Control()
	return append(replies(c, n), first)
}
