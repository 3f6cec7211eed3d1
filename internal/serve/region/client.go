package region

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// Errors of a client, for errors.Is.
var (
	// ErrBounds means that the bytes are not in the region.
	ErrBounds = errors.New("outside the region")
	// ErrAccess means that the region does not permit the access.
	ErrAccess = errors.New("no access")
	// ErrEnded means that the server has ended the connection.
	ErrEnded = errors.New(
		"the other end has ended the connection: it stops, or the region was withdrawn or exported anew")
)

// StatusError is the error of a failed work request.
type StatusError struct{ Status verbs.WCStatus }

// Error describes what the status means for a region.
func (e *StatusError) Error() string {
	name := e.Status.Name()
	switch e.Status {
	case verbs.WCRemAccessErr, verbs.WCRemInvReqErr:
		return "refused by the server (" + name + "): the region may have been withdrawn or exported anew"
	case verbs.WCRemOpErr:
		return "the region's memory cannot be accessed (" + name +
			"): a file may have become shorter than it was, or its disk fails"
	case verbs.WCRetryExcErr:
		return "the server does not answer (" + name + ")"
	}
	return fmt.Sprintf("the work request ended with %s: %v", name, e.Status)
}

// A client transfers bytes in pieces of pieceLen bytes, up to pieces of them at a time.
const (
	pieceLen = 128 << 10
	pieces   = 8
)

// timeout is the local ACK timeout, as an exponent: 4.096 µs · 2^14 = 67 ms, as in perftest. A dead
// server is detected within two seconds.
const timeout = 14

// Conn is a connection to a region. It must be used by one goroutine.
type Conn struct {
	location
	cq   *verbs.CQ
	qp   *verbs.QP
	mr   *verbs.MR
	conn *verbs.Conn
	buf  []byte // one slot per piece
	over error  // error after which the connection is unusable
}

// Dial connects to the region name of the server at to.
func Dial(ctx context.Context, dev *verbs.Device, to netip.AddrPort, name string) (*Conn, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	c, err := dial(ctx, dev, to, name)
	if err != nil {
		return nil, fmt.Errorf("region %s: %w", name, err)
	}
	return c, nil
}

// List returns the directory of the server at to. It is empty if this host may use no region.
func List(ctx context.Context, dev *verbs.Device, to netip.AddrPort) (*Directory, error) {
	c, err := dial(ctx, dev, to, "")
	if errors.Is(err, ErrNoRegion) {
		return &Directory{Regions: []Entry{}}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	defer c.Close()
	if c.length > maxDirectory {
		return nil, fmt.Errorf("%w: its directory has %d bytes, this end reads %d", ErrProtocol, c.length, maxDirectory)
	}
	var text bytes.Buffer
	if err := c.Read(ctx, &text, 0, c.length); err != nil {
		return nil, fmt.Errorf("directory: %w", err)
	}
	return parseDirectory(text.Bytes())
}

func dial(ctx context.Context, dev *verbs.Device, to netip.AddrPort, name string) (*Conn, error) {
	c := &Conn{buf: make([]byte, pieces*pieceLen)}
	if err := c.open(ctx, dev, to, request(name)); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) open(ctx context.Context, dev *verbs.Device, to netip.AddrPort, private []byte) (err error) {
	pd := dev.AllocPD()
	if c.cq, err = dev.CreateCQ(pieces + 2); err != nil {
		return err
	}
	c.qp, err = pd.CreateQP(verbs.QPInitAttr{SendCQ: c.cq, Cap: verbs.QPCap{MaxSendWR: pieces + 1, MaxSendSGE: 1}})
	if err != nil {
		return err
	}
	if c.mr, err = pd.RegMR(c.buf, verbs.LocalWrite); err != nil {
		return err
	}
	p := verbs.DefaultConnParam()
	p.Access = verbs.RemoteWrite // for the server's empty WRITEs: no region here permits access
	p.MaxDestRdAtomic = 0
	p.Timeout = timeout
	p.PrivateData = private
	if c.conn, err = dev.Dial(ctx, to, c.qp, p); err != nil {
		return refused(err)
	}
	c.location, err = parseReply(c.conn.PrivateData())
	return err
}

// refused returns the error that a REJ of a server means, and other errors unchanged.
func refused(err error) error {
	var rej *verbs.RejectError
	if !errors.As(err, &rej) || rej.Reason != consumerDefined {
		return err
	}
	if len(rej.PrivateData) > 0 {
		if why := refusals[Refusal(rej.PrivateData[0])]; why != nil {
			return why
		}
	}
	return fmt.Errorf("%w: %w", ErrProtocol, err)
}

// consumerDefined is the reason of a REJ by a program (IBA table 109).
const consumerDefined = 28

// Len returns the length of the region in bytes.
func (c *Conn) Len() uint64 { return c.length }

// Access returns the rights of this end on the region.
func (c *Conn) Access() Access { return c.access }

// Done returns a channel that is closed when either end has ended the connection.
func (c *Conn) Done() <-chan struct{} { return c.conn.Done() }

// KeepAlive ends the connection to a writable region when the server does not answer; see
// [verbs.Conn.KeepAlive]. Other methods may be called concurrently.
func (c *Conn) KeepAlive(ctx context.Context, every time.Duration) error {
	return c.conn.KeepAlive(ctx, every)
}

// Ping returns an error if the server is gone. It transfers no byte of the region.
func (c *Conn) Ping(ctx context.Context) error {
	if c.over != nil {
		return c.over
	}
	wr := verbs.SendWR{Opcode: verbs.WRRead, Flags: verbs.Signaled}
	if c.access&Read == 0 {
		wr.Opcode = verbs.WRWrite
	}
	if err := c.qp.PostSend(&wr); err != nil {
		return c.failed(err)
	}
	if err := c.wait(ctx); err != nil {
		return c.failed(err)
	}
	return nil
}

// Close ends the connection. It does not wait for the other end.
func (c *Conn) Close() {
	if c.over == nil {
		c.over = verbs.ErrClosed
	}
	// These calls fail only for objects in use, and these are not in use.
	if c.qp != nil {
		_ = c.qp.Close()
	}
	if c.mr != nil {
		_ = c.mr.Dereg()
	}
	if c.cq != nil {
		_ = c.cq.Close()
	}
}

// Fits returns why n bytes at off cannot be read or written, nil if they can.
func (c *Conn) Fits(right Access, off, n uint64) error { return c.check(right, off, n) }

// check returns why n bytes at off cannot be accessed with the given right, nil if they can.
func (c *Conn) check(right Access, off, n uint64) error {
	switch {
	case c.over != nil:
		return c.over
	case c.access&right == 0:
		return fmt.Errorf("%w for %v: the region permits %v", ErrAccess, right, c.access)
	case off > c.length:
		return fmt.Errorf("offset %d is %w: it has %d bytes", off, ErrBounds, c.length)
	case n > c.length-off:
		return fmt.Errorf("%d bytes at offset %d are %w: it has %d bytes", n, off, ErrBounds, c.length)
	}
	return nil
}

// failed closes the queue pair and makes the connection unusable, because work in progress may
// still write into buf. It returns err.
func (c *Conn) failed(err error) error {
	c.over = err
	_ = c.qp.Close()
	return err
}

// wait waits until the oldest work request completes, and returns its error.
func (c *Conn) wait(ctx context.Context) error {
	var wc [1]verbs.WC
	if _, err := c.cq.Wait(ctx, wc[:]); err != nil {
		return err
	}
	return c.ended(wc[0].Status)
}

func (c *Conn) ended(status verbs.WCStatus) error {
	switch status {
	case verbs.WCSuccess:
		return nil
	case verbs.WCWRFlushErr:
		return c.lost()
	}
	return &StatusError{status}
}

// lost returns why the connection has ended.
func (c *Conn) lost() error {
	var failed *verbs.FatalError
	switch err := c.conn.Err(); {
	case errors.As(err, &failed) && failed.Status != verbs.WCSuccess:
		return &StatusError{failed.Status}
	case errors.Is(err, verbs.ErrUnreachable):
		return &StatusError{verbs.WCRetryExcErr}
	}
	return ErrEnded
}
