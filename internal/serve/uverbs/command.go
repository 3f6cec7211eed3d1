//go:build linux

package uverbs

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A command is a legacy command in progress, with the request of the program.
type command struct {
	*request
	in []byte // CORE_IN
}

// driverOut stores the response of the driver.
func (c *command) driverOut(v any) error { return c.output(uapi.MethodInvokeWrite.UHWOut(), v) }

// commandHandlers has a handler for each supported legacy command. A response is stored in
// CORE_OUT; nil means none.
var commandHandlers map[uapi.Command]func(*command) (response any, err error)

func init() {
	commandHandlers = map[uapi.Command]func(*command) (any, error){
		uapi.CmdQueryDevice:   (*command).queryDevice,
		uapi.CmdExQueryDevice: (*command).queryDeviceEx,
		uapi.CmdAllocPD:       creates(numPDs, (*command).allocPD),
		uapi.CmdDeallocPD: destroys(numPDs, func(q uapi.DeallocPD) uint32 { return q.PDHandle },
			(*Context).deallocPD),
		uapi.CmdRegMR: creates(numMRs, (*command).regMR),
		uapi.CmdDeregMR: destroys(numMRs, func(q uapi.DeregMR) uint32 { return q.MRHandle },
			(*Context).deregMR),
		uapi.CmdAllocMW: creates(numMWs, (*command).allocMW),
		uapi.CmdDeallocMW: destroys(numMWs, func(q uapi.DeallocMW) uint32 { return q.MWHandle },
			(*Context).deallocMW),
		uapi.CmdCreateAH: creates(numAHs, (*command).createAH),
		uapi.CmdDestroyAH: destroys(numAHs, func(q uapi.DestroyAH) uint32 { return q.AHHandle },
			(*Context).destroyAH),
		uapi.CmdCreateCompChannel: (*command).createCompChannel,
		uapi.CmdReqNotifyCQ:       (*command).reqNotifyCQ,
		uapi.CmdResizeCQ:          (*command).resizeCQ,
		uapi.CmdQueryQP:           (*command).queryQP,
		uapi.CmdModifyQP:          (*command).modifyQP,
		uapi.CmdExModifyQP:        (*command).modifyQPEx,
		uapi.CmdAttachMcast:       (*command).attachMcast,
		uapi.CmdDetachMcast:       (*command).detachMcast,
		uapi.CmdModifySRQ:         (*command).modifySRQ,
		uapi.CmdQuerySRQ:          (*command).querySRQ,
	}
}

func invokeWrite(r *request) error {
	spec, err := r.Command()
	if err != nil {
		return err
	}
	h := commandHandlers[spec.Command]
	if h == nil {
		return fmt.Errorf("%v is not supported: %w", spec.Command, uapi.EOPNOTSUPP)
	}
	in, err := r.bytes(uapi.AttrCoreIn)
	if err != nil {
		return err
	}
	resp, err := h(&command{r, in})
	if err != nil || resp == nil {
		return err
	}
	return r.outputFit(uapi.AttrCoreOut, uapi.Encode(resp))
}

// creates returns a command that executes create and counts the new object against the limit of
// kind.
func creates(kind resource, create func(*command) (any, error)) func(*command) (any, error) {
	return func(c *command) (any, error) {
		if err := c.ctx.take(kind, 1); err != nil {
			return nil, err
		}
		resp, err := create(c)
		if err != nil {
			c.ctx.give(kind, 1)
		}
		return resp, err
	}
}

// destroys returns a command that destroys the object whose handle is in its request Q.
func destroys[Q any](kind resource, handle func(Q) uint32,
	destroy func(*Context, uint32) error) func(*command) (any, error) {
	return func(c *command) (any, error) {
		q, err := uapi.DecodeAs[Q](c.in)
		if err != nil {
			return nil, err
		}
		if err := destroy(c.ctx, handle(q)); err != nil {
			return nil, err
		}
		c.ctx.give(kind, 1)
		return nil, nil
	}
}

// errnoFor wraps err, an error of package verbs, with e, the error number that the kernel returns
// for the most common cause. It returns nil for nil.
func errnoFor(err error, e uapi.Errno) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", e, err)
}
