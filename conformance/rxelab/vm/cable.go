package vm

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// Cable connects interfaces of two machines and drops frames, each with the same probability. The
// loss is outside both machines: the sender has already segmented, and the receiver has not
// merged yet.
type Cable struct {
	sockets   [2]string
	listeners [2]net.Listener
	part      atomic.Uint64 // probability of loss, as the bits of a float64
	carried   atomic.Uint64 // number of frames that arrived
	lost      atomic.Uint64

	mu     sync.Mutex
	conns  []net.Conn // guarded by mu
	closed bool       // guarded by mu
	all    sync.WaitGroup
}

// maxFrame is the maximum length of a frame in bytes.
const maxFrame = 128 << 10

// NewCable makes a cable with two sockets in a directory. The seed decides which frames are
// dropped.
func NewCable(dir string, seed uint64) (*Cable, error) {
	c := &Cable{}
	for i := range c.sockets {
		c.sockets[i] = filepath.Join(dir, fmt.Sprintf("cable%d.sock", i))
		var err error
		if c.listeners[i], err = net.Listen("unix", c.sockets[i]); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	c.all.Go(func() { c.run(seed) })
	return c, nil
}

// Sockets returns the paths of the sockets for the two interfaces.
func (c *Cable) Sockets() [2]string { return c.sockets }

// SetLoss sets the probability of loss in either direction, 0 to 1.
func (c *Cable) SetLoss(part float64) { c.part.Store(math.Float64bits(part)) }

// Counts returns the numbers of frames that arrived and that were dropped, in both directions
// together.
func (c *Cable) Counts() (carried, lost uint64) { return c.carried.Load(), c.lost.Load() }

// Close removes the cable.
func (c *Cable) Close() error {
	var errs []error
	for _, l := range c.listeners {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	c.mu.Lock()
	c.closed = true
	for _, conn := range c.conns {
		errs = append(errs, conn.Close())
	}
	c.mu.Unlock()
	c.all.Wait()
	return errors.Join(errs...)
}

// run waits for both ends and carries frames until one end is closed.
func (c *Cable) run(seed uint64) {
	var ends [2]net.Conn
	for i, l := range c.listeners {
		conn, err := l.Accept()
		if err != nil {
			return // the cable is closed
		}
		ends[i] = conn
		if !c.keep(conn) {
			return
		}
	}
	for i := range ends {
		rnd := rand.New(rand.NewPCG(seed, uint64(i)))
		// An error means that an end is closed, and with it the machine.
		c.all.Go(func() { _ = c.carry(ends[1-i], ends[i], rnd) })
	}
}

// keep stores a connection for Close. After Close it closes the connection and returns false.
func (c *Cable) keep(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close() // nothing has used it
		return false
	}
	c.conns = append(c.conns, conn)
	return true
}

// carry carries frames from one end to the other. It writes all frames that were read in one
// call.
func (c *Cable) carry(to io.Writer, from io.Reader, rnd *rand.Rand) error {
	r := bufio.NewReaderSize(from, 2*maxFrame)
	var out []byte
	for {
		head, err := r.Peek(4)
		if err != nil {
			return err
		}
		n := 4 + int(binary.BigEndian.Uint32(head))
		if n > maxFrame {
			return fmt.Errorf("a frame of %d bytes: the limit is %d", n, maxFrame)
		}
		frame, err := r.Peek(n)
		if err != nil {
			return err
		}
		if rnd.Float64() < math.Float64frombits(c.part.Load()) {
			c.lost.Add(1)
		} else {
			c.carried.Add(1)
			out = append(out, frame...)
		}
		if _, err := r.Discard(n); err != nil {
			return err
		}
		if whole(r) && len(out) < maxFrame {
			continue
		}
		if _, err := to.Write(out); err != nil {
			return err
		}
		out = out[:0]
	}
}

// whole reports whether r has buffered another complete frame.
func whole(r *bufio.Reader) bool {
	have := r.Buffered()
	if have < 4 {
		return false
	}
	head, err := r.Peek(4)
	return err == nil && have >= 4+int(binary.BigEndian.Uint32(head))
}
