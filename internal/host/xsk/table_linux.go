package xsk

import (
	"errors"
	"fmt"
	"net/netip"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// maxEndpoints is how many addresses an interface can have: as many as a GID table has entries.
const maxEndpoints = 256

// table is the program with the two maps that it looks things up in.
type table struct {
	program *ebpf.Program
	addrs   *ebpf.Map // address to the place of its first socket in sockets
	sockets *ebpf.Map // XSKMAP: for each endpoint, one place for each queue
	queues  int
	frags   bool // the program takes frames of several buffers
}

// newTable loads the program for the given number of queues. frags asks for frames of several buffers, which kernels
// before 5.18 do not know.
func newTable(port uint16, queues int, frags bool, missing int64) (_ *table, err error) {
	// Only kernels before 5.11 count maps there; who may not raise it hears of it from the kernel.
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

// bpfError says what is to be done about a kernel that refuses a piece of BPF.
func bpfError(what string, err error) error {
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("loading the XDP %s takes CAP_BPF and CAP_NET_ADMIN, as root has them: %w", what, err)
	}
	return fmt.Errorf("loading the XDP %s: %w", what, err)
}

// key is addr as the program looks it up.
func key(addr netip.Addr) [keyLen]byte { return addr.WithZone("").As16() }

// place is where the sockets of endpoint i begin.
func (t *table) place(i int) uint32 { return uint32(i * t.queues) }

// enter gives endpoint i what is sent to addr. Its sockets are in their places before the program can find them.
func (t *table) enter(addr netip.Addr, i int, fds []int) error {
	for q, fd := range fds {
		if err := t.sockets.Put(t.place(i)+uint32(q), uint32(fd)); err != nil {
			return fmt.Errorf("entering the socket of queue %d in the XDP program's map: %w", q, err)
		}
	}
	if err := t.addrs.Put(key(addr), t.place(i)); err != nil {
		return fmt.Errorf("entering %v in the XDP program's map: %w", addr, err)
	}
	return nil
}

// leave lets the host have what is sent to addr.
func (t *table) leave(addr netip.Addr) error {
	if err := t.addrs.Delete(key(addr)); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return fmt.Errorf("taking %v out of the XDP program's map: %w", addr, err)
	}
	return nil
}

func (t *table) close() {
	t.program.Close()
	t.sockets.Close()
	t.addrs.Close()
}
