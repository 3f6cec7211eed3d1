package verbs

import (
	"context"
	"errors"
	"fmt"
)

// Errors of arguments that are nil. No call panics on one: an argument is refused before a lock is taken.
var (
	errNilContext = errors.New("the context is nil: give one, such as context.Background()")
	errNilWR      = errors.New("the work request is nil: give one or leave it out")
	errNilAttr    = errors.New("the attributes are nil: give a QPAttr")
	errNilQP      = errors.New("the queue pair is nil or not one of PD.CreateQP: make it there")
)

// checkContext refuses a nil context.
func checkContext(ctx context.Context) error {
	if ctx == nil {
		return errNilContext
	}
	return nil
}

// checkOn returns why a call on dev cannot take q, nil if it can.
func (q *QP) checkOn(dev *Device) error {
	switch {
	case q == nil || q.qp == nil:
		return errNilQP
	case q.ctx.dev != dev:
		return errors.New("the queue pair is on another device")
	}
	return nil
}

// apply calls each option with the options to change, and refuses a nil one.
func apply[O any, F ~func(*O)](options *O, opts []F) error {
	for i, opt := range opts {
		if opt == nil {
			return fmt.Errorf("option %d is nil: give one or leave it out", i)
		}
		opt(options)
	}
	return nil
}

// postable returns the requests before the first one that a post has to refuse without looking at the
// queue, and why it refuses that one, nil if there is none.
func postable(wrs []*SendWR) ([]*SendWR, error) {
	for i, wr := range wrs {
		switch {
		case wr == nil:
			return wrs[:i], errNilWR
		case wr.Opcode == WRBindMW && wr.Bind != nil && wr.Bind.LKey == 0 && wr.Bind.Length > 0:
			// No region has this key: see MW.Bind.
			return wrs[:i], errors.New("bind: no region given: LKey of Bind is 0; give MW.Bind the region")
		}
	}
	return wrs, nil
}

// postableRecvs is postable of receives.
func postableRecvs(wrs []*RecvWR) ([]*RecvWR, error) {
	for i, wr := range wrs {
		if wr == nil {
			return wrs[:i], errNilWR
		}
	}
	return wrs, nil
}

// posted returns the error of a post that has taken n requests: err where one of them was refused, else refused, which
// is why the one after them could not be posted.
func posted(n int, err, refused error) error {
	if err == nil {
		err = refused
	}
	if err == nil {
		return nil
	}
	return &PostError{Index: n, Err: err}
}
