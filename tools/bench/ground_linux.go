package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"

	"github.com/gorxe/gorxe/tools/bench/cores"
)

// The path between the two hosts.
const (
	mtu    = 9000
	device = "veth0"
	prefix = "/24"
)

var addresses = [2]string{"198.18.0.1", "198.18.0.2"}

// ground is two hosts, of the server and of the client, connected by a veth pair. The namespaces
// have no names and no files: they end with the processes in them, and these end with this
// process, however it ends.
type ground struct {
	hosts [2]*host
	// Hosts for two ends on one host, in the network namespace of hosts[Server]: each of inside
	// has the cores of that end, shared has those of both.
	inside [2]*host
	shared *host
	dir    string // for the daemons' sockets
}

// host is a network namespace and a thread in it, bound to some cores. Processes that the thread
// starts are in the namespace too, and are killed when the thread ends.
type host struct {
	ns    netns.NsHandle
	cores []int
	calls chan func()
	gone  chan struct{}
}

// newGround creates the hosts, each with perEnd cores, separate ones if there are enough.
func newGround(asked []int, perEnd int) (*ground, error) {
	if os.Geteuid() != 0 {
		return nil, errors.New("two hosts are made of network namespaces, which takes root: run it with sudo")
	}
	ends, err := cores.RangesPerEnd(asked, max(1, perEnd))
	if err != nil {
		return nil, err
	}
	g := &ground{}
	if err := g.build(ends); err != nil {
		return nil, errors.Join(err, g.close())
	}
	return g, nil
}

func (g *ground) build(ends [2][]int) (err error) {
	if g.dir, err = os.MkdirTemp("", "gorxe-bench-"); err != nil {
		return err
	}
	for i := range g.hosts {
		if g.hosts[i], err = newHost(nil, ends[i]); err != nil {
			return err
		}
	}
	for i := range g.inside {
		if g.inside[i], err = newHost(g.hosts[Server], ends[i]); err != nil {
			return err
		}
	}
	if g.shared, err = newHost(g.hosts[Server], slices.Concat(ends[:]...)); err != nil {
		return err
	}
	if err := g.plug(); err != nil {
		return fmt.Errorf("connecting two network namespaces: %w", err)
	}
	return nil
}

// newHost creates a host that may use the given cores: in the network namespace of the host in,
// or in a new one if in is nil.
func newHost(in *host, cores []int) (*host, error) {
	h := &host{ns: netns.None(), cores: cores, calls: make(chan func()), gone: make(chan struct{})}
	ready := make(chan error)
	go func() {
		defer close(h.gone)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		err := h.enter(in)
		ready <- err
		if err != nil {
			return
		}
		for f := range h.calls {
			f()
		}
	}()
	if err := <-ready; err != nil {
		return nil, err
	}
	return h, nil
}

func (h *host) enter(in *host) (err error) {
	switch {
	case in == nil:
		if h.ns, err = netns.New(); err != nil {
			return fmt.Errorf("making a network namespace: %w", err)
		}
	default:
		if err = netns.Set(in.ns); err == nil {
			h.ns, err = netns.Get()
		}
		if err != nil {
			return fmt.Errorf("entering a network namespace: %w", err)
		}
	}
	var set unix.CPUSet
	for _, c := range h.cores {
		set.Set(c)
	}
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("binding a thread to cores %v: %w", h.cores, err)
	}
	return nil
}

// in runs f on the host.
func (h *host) in(f func() error) error {
	result := make(chan error)
	h.calls <- func() { result <- f() }
	return <-result
}

// start starts a program on the host.
func (h *host) start(c *exec.Cmd) error {
	// A signal from the terminal must reach only the measuring program, which ends the others.
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	return h.in(c.Start)
}

// endGroup kills a program that start started, and its descendants.
func endGroup(c *exec.Cmd) error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }

// terminate asks a program to end.
func terminate(c *exec.Cmd) error { return c.Process.Signal(syscall.SIGTERM) }

// pause stops a program that start started, and its descendants, until resume. It does nothing if
// the program has ended.
func pause(c *exec.Cmd) { signalGroup(c, unix.SIGSTOP) }

func resume(c *exec.Cmd) { signalGroup(c, unix.SIGCONT) }

func signalGroup(c *exec.Cmd, sig syscall.Signal) {
	if c.Process.Signal(syscall.Signal(0)) == nil {
		_ = syscall.Kill(-c.Process.Pid, sig)
	}
}

// groupOf returns the process IDs of a program that start started and of its descendants.
func groupOf(c *exec.Cmd) (pids []int) {
	all, _ := os.ReadDir("/proc")
	for _, e := range all {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if group, err := unix.Getpgid(pid); err == nil && group == c.Process.Pid {
			pids = append(pids, pid)
		}
	}
	return pids
}

// spent returns the processor time of the threads of processes, and the time that they spent
// runnable but waiting for a processor. Threads that have ended are not included.
func spent(pids []int) (ran, waited time.Duration) {
	for _, pid := range pids {
		threads := fmt.Sprintf("/proc/%d/task", pid)
		all, _ := os.ReadDir(threads)
		for _, e := range all {
			text, _ := os.ReadFile(filepath.Join(threads, e.Name(), "schedstat"))
			var r, w time.Duration
			if n, _ := fmt.Sscan(string(text), &r, &w); n == 2 {
				ran, waited = ran+r, waited+w
			}
		}
	}
	return ran, waited
}

func (h *host) close() {
	close(h.calls)
	<-h.gone
	h.ns.Close()
}

// close removes the hosts.
func (g *ground) close() error {
	for _, h := range []*host{g.shared, g.inside[0], g.inside[1], g.hosts[0], g.hosts[1]} {
		if h != nil {
			h.close()
		}
	}
	if g.dir == "" {
		return nil
	}
	return os.RemoveAll(g.dir)
}

func (g *ground) plug() error {
	left, err := netlink.NewHandleAt(g.hosts[0].ns)
	if err != nil {
		return err
	}
	defer left.Close()
	cable := &netlink.Veth{LinkAttrs: netlink.LinkAttrs{Name: device, MTU: mtu}, PeerName: device,
		PeerNamespace: netlink.NsFd(g.hosts[1].ns)}
	if err := left.LinkAdd(cable); err != nil {
		return fmt.Errorf("making a veth pair: %w", err)
	}
	for i, h := range g.hosts {
		if err := h.bringUp(addresses[i]); err != nil {
			return err
		}
	}
	return g.awaitCarrier(left)
}

func (h *host) bringUp(address string) error {
	at, err := netlink.NewHandleAt(h.ns)
	if err != nil {
		return err
	}
	defer at.Close()
	lo, err := at.LinkByName("lo")
	if err != nil {
		return err
	}
	link, err := at.LinkByName(device)
	if err != nil {
		return err
	}
	addr, err := netlink.ParseAddr(address + prefix)
	if err != nil {
		return err
	}
	return errors.Join(at.LinkSetUp(lo), at.LinkSetMTU(link, mtu), at.AddrAdd(link, addr), at.LinkSetUp(link))
}

// awaitCarrier waits until the veth pair has carrier, shortly after both ends are up.
func (g *ground) awaitCarrier(at *netlink.Handle) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	for ctx.Err() == nil {
		link, err := at.LinkByName(device)
		if err != nil || link.Attrs().OperState == netlink.OperUp {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return errors.New("the veth pair does not come up")
}

// listens reports whether a socket on the host listens on a TCP port.
func (h *host) listens(port int) (yes bool, err error) {
	err = h.in(func() error {
		for _, name := range []string{"/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"} {
			text, err := os.ReadFile(name)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			yes = yes || listensIn(string(text), port)
		}
		return nil
	})
	return yes, err
}

// listensIn searches the text of /proc/net/tcp (proc_pid_net(5)) for a listening socket.
func listensIn(text string, port int) bool {
	suffix := fmt.Sprintf(":%04X", port)
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 3 && strings.HasSuffix(f[1], suffix) && f[3] == "0A" {
			return true
		}
	}
	return false
}
