//go:build linux

package uverbs

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// vectorOf converts an address vector of a program.
func vectorOf(a uapi.AHAttr) (verbs.AddressVector, error) {
	if a.IsGlobal == 0 { // RoCE has no local addresses (rdma_check_ah_attr)
		return verbs.AddressVector{}, fmt.Errorf("an address vector without a GRH: %w", uapi.EINVAL)
	}
	if a.PortNum != port {
		return verbs.AddressVector{}, noPort(uint32(a.PortNum))
	}
	return verbs.AddressVector{
		DGID: a.GRH.DGID, FlowLabel: a.GRH.FlowLabel & 0xfffff, SGIDIndex: a.GRH.SGIDIndex,
		TrafficClass: a.GRH.TrafficClass, HopLimit: a.GRH.HopLimit,
	}, nil
}

// destOf converts an address vector to the form that programs read.
func destOf(v verbs.AddressVector) uapi.QPDest {
	return uapi.QPDest{
		DGID: v.DGID, FlowLabel: v.FlowLabel, SGIDIndex: v.SGIDIndex, HopLimit: v.HopLimit,
		TrafficClass: v.TrafficClass,
		IsGlobal:     1, PortNum: port,
	}
}

func (c *command) createAH() (any, error) {
	q, err := uapi.DecodeAs[uapi.CreateAH](c.in)
	if err != nil {
		return nil, err
	}
	p, err := c.ctx.pds.get(uapi.ObjectPD, q.PDHandle)
	if err != nil {
		return nil, err
	}
	v, err := vectorOf(q.Attr)
	if err != nil {
		return nil, err
	}
	ah, err := p.verbs.CreateAH(v)
	if err != nil {
		return nil, errnoFor(err, uapi.EINVAL)
	}
	n := c.ctx.ahs.enter(ah)
	// librxe writes this number into requests. If it were 0, librxe would resolve the peer's MAC
	// itself.
	if err := c.driverOut(uapi.RXECreateAHResp{AHNum: n}); err != nil {
		_ = c.ctx.ahs.destroy(n) // cannot fail: it was just added
		return nil, err
	}
	return uapi.CreateAHResp{AHHandle: n}, nil
}

// destroyAH destroys an address handle. First it makes the UD queue pairs fetch posted datagrams: a
// program may destroy the handle right after posting, because in the kernel the datagrams have been
// sent when the write of the doorbell returns.
func (c *Context) destroyAH(handle uint32) error {
	for _, q := range c.qps.all {
		if q.datagrams {
			_ = q.qp.Doorbell() // an error means that the queue pair has ended
		}
	}
	return c.ahs.destroy(handle)
}

func (c *command) attachMcast() (any, error) {
	q, err := uapi.DecodeAs[uapi.AttachMcast](c.in)
	if err != nil {
		return nil, err
	}
	o, err := c.ctx.qps.get(uapi.ObjectQP, q.QPHandle)
	if err != nil {
		return nil, err
	}
	return nil, errnoFor(o.qp.AttachMulticast(q.GID), uapi.EINVAL)
}

func (c *command) detachMcast() (any, error) {
	q, err := uapi.DecodeAs[uapi.DetachMcast](c.in)
	if err != nil {
		return nil, err
	}
	o, err := c.ctx.qps.get(uapi.ObjectQP, q.QPHandle)
	if err != nil {
		return nil, err
	}
	return nil, errnoFor(o.qp.DetachMulticast(q.GID), uapi.EINVAL)
}
