package xsk

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// maxEndpoints is the maximum number of addresses of an interface: the size of a GID table.
const maxEndpoints = 256

// table is the program with its two maps.
type table struct {
	program *ebpf.Program
	addrs   *ebpf.Map // address to the index of its first socket in sockets
	sockets *ebpf.Map // XSKMAP: for each endpoint, one socket per queue
	queues  int
	frags   bool // the program accepts frames of several buffers
}

// newTable loads the program for the given number of queues. With frags it accepts frames of
// several buffers, which requires Linux 5.18.
func newTable(port uint16, queues int, frags bool, missing int64) (_ *table, err error) {
	// Only kernels before 5.11 charge maps to RLIMIT_MEMLOCK. If it cannot be raised, creating
	// the maps reports the error.
	_ = rlimit.RemoveMemlock()
	t := &table{queues: queues, frags: frags}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	if t.addrs, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "gorxe_addrs", Type: ebpf.Hash, KeySize: keyLen, ValueSize: 4, MaxEntries: maxEndpoints,
	}); err != nil {
		return nil, bpfError("map of addresses", err)
	}
	if t.sockets, err = ebpf.NewMap(&ebpf.MapSpec{
		Name: "gorxe_sockets", Type: ebpf.XSKMap, KeySize: 4, ValueSize: 4, MaxEntries: uint32(maxEndpoints * queues),
	}); err != nil {
		return nil, bpfError("map of sockets", err)
	}
	spec := &ebpf.ProgramSpec{
		Name: "gorxe_xdp", Type: ebpf.XDP, License: "Apache-2.0",
		Instructions: instructions(t.addrs, t.sockets, port, queues, missing),
	}
	if frags {
		spec.Flags = unix.BPF_F_XDP_HAS_FRAGS
	}
	if t.program, err = ebpf.NewProgram(spec); err != nil {
		return nil, bpfError("program", err)
	}
	return t, nil
}

// bpfError adds the required capabilities to an error of loading a program or map.
func bpfError(what string, err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("loading the XDP %s requires CAP_BPF and CAP_NET_ADMIN (root has them): %w", what, err)
	}
	return fmt.Errorf("loading the XDP %s: %w", what, err)
}

// key returns addr as a key of the map addrs.
func key(addr netip.Addr) [keyLen]byte { return addr.WithZone("").As16() }

// firstSocket returns the index of the first socket of endpoint i.
func (t *table) firstSocket(i int) uint32 { return uint32(i * t.queues) }

// enter redirects frames for addr to endpoint i. It stores the sockets first, before the
// program can look them up.
func (t *table) enter(addr netip.Addr, i int, fds []int) error {
	for q, fd := range fds {
		if err := t.sockets.Put(t.firstSocket(i)+uint32(q), uint32(fd)); err != nil {
			return fmt.Errorf("adding the socket of queue %d to the XDP program's map: %w", q, err)
		}
	}
	if err := t.addrs.Put(key(addr), t.firstSocket(i)); err != nil {
		return fmt.Errorf("adding %v to the XDP program's map: %w", addr, err)
	}
	return nil
}

// leave stops the redirection of frames for addr, so that they go to the host.
func (t *table) leave(addr netip.Addr) error {
	if err := t.addrs.Delete(key(addr)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("removing %v from the XDP program's map: %w", addr, err)
	}
	return nil
}

func (t *table) close() {
	t.program.Close()
	t.sockets.Close()
	t.addrs.Close()
}
