package model

import (
	"github.com/gorxe/gorxe/internal/sim/scenario"
	"github.com/gorxe/gorxe/qp"
)

// completions is a CQ with its model. The CQ holds completions in order, up to its depth. The first
// completion that finds it full and all later ones are lost; no others are.
type completions struct {
	net        *Network
	spec       scenario.CQSpec
	cq         *qp.CQ
	depth      int
	list       []qp.WC
	overflowed bool
	lost       bool // whether a completion was lost since the last settle
	polls      bool // whether a poll is scheduled
	users      []*end
}

func (net *Network) newCQ(spec scenario.CQSpec) *completions {
	return &completions{net: net, spec: spec, cq: qp.NewCQ(spec.Depth), depth: spec.Depth}
}

// made is the completion sink of a machine: it records the completions of one step and passes
// them to the CQ.
type made struct {
	list []qp.WC
	cq   *completions
}

// Complete records wc.
func (m *made) Complete(wc *qp.WC) {
	m.list = append(m.list, *wc)
	c := m.cq
	c.cq.Complete(wc)
	if !c.overflowed && len(c.list) == c.depth {
		c.net.Stats.Overflows++
		c.overflowed = true
	}
	if c.overflowed {
		c.net.Stats.Lost++
		c.lost = true
		return
	}
	c.list = append(c.list, *wc)
}

// settle compares the CQ with the model after a step. If a completion was lost, all queue pairs
// that complete into the CQ go to ERR.
func (c *completions) settle() {
	c.check()
	if c.spec.Every == 0 {
		if c.poll(len(c.list)); c.overflowed {
			c.fail("it has overflowed")
		}
		return
	}
	if !c.polls && len(c.list) > 0 {
		c.polls = true
		c.net.At(c.net.Now+c.spec.Every, c.polled)
	}
	if !c.lost {
		return
	}
	c.lost = false
	for _, e := range c.users {
		if s := e.state(); s != qp.RESET && s != qp.ERR {
			e.toError("its CQ, which has overflowed,")
			e.ready()
		}
	}
}

func (c *completions) check() {
	if c.cq.Len() != len(c.list) || c.cq.Depth() != c.depth || c.cq.Overflowed() != c.overflowed {
		c.fail("it holds %d of %d completions and has overflowed: %t, it should hold %d of %d: %t",
			c.cq.Len(), c.cq.Depth(), c.cq.Overflowed(), len(c.list), c.depth, c.overflowed)
	}
}

func (c *completions) fail(format string, args ...any) {
	c.net.Fail("the CQ of "+c.users[0].name(), format, args...)
}

// poll removes up to n completions from the CQ and checks them.
func (c *completions) poll(n int) {
	var wcs [16]qp.WC
	for n = min(n, len(c.list)); n > 0; {
		got := c.cq.Poll(wcs[:min(n, len(wcs))])
		for i := range wcs[:got] {
			if wcs[i] != c.list[i] {
				c.fail("it gives %+v, it should give %+v", wcs[i], c.list[i])
			}
		}
		if got == 0 {
			c.fail("it gives nothing and holds %d completions", len(c.list))
			return
		}
		c.list = c.list[:copy(c.list, c.list[got:])]
		n -= got
	}
}

// polled is a scheduled poll by the program.
func (c *completions) polled() {
	c.polls = false
	c.poll(c.spec.Batch)
	c.settle()
}

// resize changes the depth. It must fail if the CQ holds more completions than depth, or depth is
// 0.
func (c *completions) resize(depth int) {
	refused := depth < max(1, len(c.list))
	if err := c.cq.Resize(depth); (err != nil) != refused {
		c.fail("resizing it to %d with %d completions in it: %v", depth, len(c.list), err)
	}
	if !refused {
		c.depth = depth
	}
	c.check()
}
