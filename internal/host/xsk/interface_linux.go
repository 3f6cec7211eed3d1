package xsk

import (
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Options are the options for opening an interface. The options of its first endpoint apply to all
// its endpoints.
type Options struct {
	Port    uint16 // UDP destination port
	Generic bool   // attach in generic mode even if the driver supports native mode
	Copy    bool   // use copy mode even if the driver supports zero-copy
	Single  bool   // no frames of several chunks even if the kernel supports them
}

// Mode describes how an interface sends and receives frames.
type Mode struct {
	Attached string // "native" or "generic"
	ZeroCopy bool
	Several  bool // a frame may consist of several chunks
	Queues   int
}

func (m Mode) String() string {
	how, frames := "copied", fmt.Sprintf("frames of at most %d bytes", OneBuffer)
	if m.ZeroCopy {
		how = "zero copy"
	}
	if m.Several {
		frames = "frames in several buffers"
	}
	queues := "1 queue"
	if m.Queues > 1 {
		queues = fmt.Sprintf("%d queues", m.Queues)
	}
	return fmt.Sprintf("%s mode, %s, %s, %s", m.Attached, how, queues, frames)
}

// maxReleaseWait is the maximum time to wait for the kernel to release a queue.
const maxReleaseWait = 2 * time.Second

// maxQueues is the maximum number of receive queues used; frames of other queues go to the
// host.
const maxQueues = 64

// Interface holds what the endpoints of a network interface share.
type Interface struct {
	index int
	mode  Mode

	table  *table
	hook   link.Link
	queues []*queue

	// Guarded by the lock of interfaces.
	key    place
	users  int
	used   [maxEndpoints]bool
	parked [maxEndpoints][]*socket // sockets of closed endpoints, for reuse
}

// place identifies an interface, across network namespaces.
type place struct {
	device, inode uint64 // of the network namespace
	ifindex       int
}

// interfaces are the interfaces of this process that have endpoints: each can have only one
// program.
var interfaces = struct {
	sync.Mutex
	at map[place]*Interface
}{at: make(map[place]*Interface)}

// here returns the place of an interface in the network namespace of the calling thread.
func here(ifindex int) (place, error) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return place{}, fmt.Errorf("finding the network namespace: %w", err)
	}
	return place{uint64(st.Dev), st.Ino, ifindex}, nil
}

// Open creates an endpoint that receives the frames to addr on the interface with the given
// index.
func Open(ifindex int, addr netip.Addr, o Options) (*Endpoint, error) {
	at, err := here(ifindex)
	if err != nil {
		return nil, err
	}
	interfaces.Lock()
	defer interfaces.Unlock()
	i := interfaces.at[at]
	if i == nil {
		if i, err = newInterface(at, o); err != nil {
			return nil, err
		}
		interfaces.at[at] = i
	}
	e, err := i.endpoint(addr)
	if err != nil {
		i.closeUnused()
		return nil, err
	}
	return e, nil
}

// newInterface attaches the program and creates the queues.
func newInterface(at place, o Options) (_ *Interface, err error) {
	i := &Interface{index: at.ifindex, key: at}
	defer func() {
		if err != nil {
			i.close()
		}
	}()
	nif, err := netlink.LinkByIndex(at.ifindex)
	if err != nil {
		return nil, fmt.Errorf("network interface %d: %w", at.ifindex, err)
	}
	queues := min(rxQueues(nif.Attrs()), maxQueues)
	if err := i.attach(o, queues); err != nil {
		return nil, err
	}
	// A driver may support zero-copy only for frames of one chunk: request several chunks only
	// if the MTU requires it.
	several := !o.Single && i.table.frags && nif.Attrs().MTU > OneBuffer-ethLen
	err = i.openQueues(o, queues, several)
	if err != nil && several && errors.Is(err, unix.EINVAL) {
		// Kernels before 6.6 do not support XDP_USE_SG.
		i.closeQueues()
		err = i.openQueues(o, queues, false)
	}
	if err != nil {
		return nil, err
	}
	return i, nil
}

// attach loads and attaches the program.
func (i *Interface) attach(o Options, queues int) error {
	var tables []*table
	var refused error
	for _, frags := range []bool{true, false} {
		t, err := newTable(o.Port, queues, frags, xdpPass)
		if err != nil {
			refused = err
			continue
		}
		tables = append(tables, t)
	}
	if len(tables) == 0 {
		return refused
	}
	var err error
	i.hook, i.table, i.mode.Attached, err = attach(i.index, tables, o.Generic)
	for _, t := range tables {
		if t != i.table {
			t.close()
		}
	}
	return err
}

// openQueues creates the active queues of the interface, up to most queues. If several is set, a
// frame may consist of several chunks.
func (i *Interface) openQueues(o Options, most int, several bool) error {
	for n := range most {
		q, err := newQueue(n, most, several)
		if err == nil {
			err = i.bindQueue(q, o)
		}
		if err != nil && n > 0 && errors.Is(err, unix.EINVAL) {
			// The driver supports this queue, but it is not active.
			break
		}
		if err != nil {
			return fmt.Errorf("queue %d: %w", n, err)
		}
		i.queues = append(i.queues, q)
	}
	i.mode.Several, i.mode.Queues = several, len(i.queues)
	i.mode.ZeroCopy = i.queues[0].owner.zeroCopy()
	return nil
}

func (i *Interface) bindQueue(q *queue, o Options) error {
	// The kernel rejects binding a socket without rings. The program redirects no frames to this
	// receive ring, so it stays empty.
	err := unix.SetsockoptInt(q.owner.fd, unix.SOL_XDP, unix.XDP_RX_RING, 1)
	// The kernel releases a closed socket asynchronously.
	for end := time.Now().Add(maxReleaseWait); err == nil; time.Sleep(time.Millisecond) {
		if err = q.bind(i.index, o.Copy); !errors.Is(err, unix.EBUSY) || time.Now().After(end) {
			break
		}
		err = nil
	}
	if err != nil {
		q.close()
		if errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("another program has an AF_XDP socket there: %w", err)
		}
		return fmt.Errorf("binding an AF_XDP socket: %w", err)
	}
	return nil
}

func (i *Interface) closeQueues() {
	for _, q := range i.queues {
		q.close()
	}
	i.queues = nil
}

// closeUnused closes the interface if it has no endpoint.
func (i *Interface) closeUnused() error {
	if i.users > 0 {
		return nil
	}
	delete(interfaces.at, i.key)
	return i.close()
}

// close detaches the program and closes the queues.
func (i *Interface) close() (err error) {
	if i.hook != nil {
		if err = i.hook.Close(); err != nil {
			err = fmt.Errorf("detaching the XDP program: %w", err)
		}
	}
	if i.table != nil {
		i.table.close()
	}
	for _, parked := range i.parked {
		for _, s := range parked {
			s.close()
		}
	}
	i.closeQueues()
	return err
}
