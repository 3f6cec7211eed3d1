package verbs

import (
	"context"
	"errors"
	"fmt"
)

// Errors of nil arguments. No call panics on a nil argument: arguments are checked before a lock is
// taken.
var (
	errNilContext = errors.New("the context is nil: give one, such as context.Background()")
	errNilWR      = errors.New("the work request is nil: remove it, or pass one")
	errNilAttr    = errors.New("the attributes are nil")
	errNilQP      = errors.New("the queue pair is nil or was not created by PD.CreateQP")
)

// checkContext returns an error if ctx is nil.
func checkContext(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	return nil
}

// checkOn returns an error if q is nil or belongs to another device than dev.
func (q *QP) checkOn(dev *Device) error {
	switch {
	case q == nil || q.qp == nil:
		return errNilQP
	case q.ctx.dev != dev:
		return errors.New("the queue pair is on another device")
	}
	return nil
}

// apply applies opts to options in order. It returns an error for a nil option.
func apply[O any, F ~func(*O)](options *O, opts []F) error {
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("option %d is nil: remove it, or pass one", i)
		}
		opt(options)
	}
	return nil
}

// postable returns the requests before the first invalid one and the error of the invalid request,
// or all requests and nil. It checks only what does not depend on the queue.
func postable(wrs []*SendWR) ([]*SendWR, error) {
	for i, wr := range wrs {
		switch {
		case wr == nil:
			return wrs[:i], errNilWR
		case wr.Opcode == WRBindMW && wr.Bind != nil && wr.Bind.LKey == 0 && wr.Bind.Length > 0:
			// No region has the L_Key 0: see MW.Bind.
			return wrs[:i], errors.New("bind: no region given: LKey of Bind is 0; give MW.Bind the region")
		}
	}
	return wrs, nil
}

// postableRecvs is postable for receives.
func postableRecvs(wrs []*RecvWR) ([]*RecvWR, error) {
	for i, wr := range wrs {
		if wr == nil {
			return wrs[:i], errNilWR
		}
	}
	return wrs, nil
}

// posted returns the error of a post in which the queue accepted n requests. err is the error of
// the queue. refused is the error that postable returned for the request after the accepted ones;
// it applies if err is nil.
func posted(n int, err, refused error) error {
	if err == nil {
		err = refused
	}
	if err == nil {
		return nil
	}
	return &PostError{Index: n, Err: err}
}
