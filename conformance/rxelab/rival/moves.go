package rival

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/machine"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// user identifies the user of a machine's interfaces.
type user uint8

const (
	nobody  user = iota // after boot
	byRxe               // RDMA devices in the initial network namespace, which has the socket of the rxe module
	byGorxe             // in a separate namespace, in which the port is free
)

// sideNetns is the network namespace of gorxe.
const sideNetns = "gorxe"

// The cables between the two machines.
const (
	plainWire = iota // between the two QEMU processes directly
	lossyWire        // through a [vm.Cable]
	wires
)

// wireEnd is an interface of a machine.
type wireEnd struct {
	netdev   string
	mac      string
	cell.End // includes the RDMA device that rxe makes
}

// side is one of two connected machines, with the user of its interfaces.
type side struct {
	*machine.Machine
	index int // 0 for the server
	user  user
	ends  [wires]wireEnd
}

func newSide(index int) *side {
	s := &side{index: index}
	for w := range s.ends {
		s.ends[w] = wireEnd{
			netdev: fmt.Sprintf("wire%d", w), mac: fmt.Sprintf("02:00:00:00:%02x:%02x", w, index+1),
			End: cell.End{Device: fmt.Sprintf("rxe%d", w), Addr: map[cell.Family]netip.Addr{
				cell.IPv4: netip.AddrFrom4([4]byte{198, 18, byte(w), byte(index + 1)}),
				cell.IPv6: netip.MustParseAddr(fmt.Sprintf("fd00:18:0:%x::%x", w, index+1)),
			}},
		}
	}
	return s
}

// commands are argument lines for a tool.
type commands struct {
	tool  []string
	lines []string
}

// run runs the commands, those of ip in one process.
func (c commands) run(ctx context.Context, s *vm.Session) error {
	if c.tool[0] != "ip" {
		for _, l := range c.lines {
			if _, err := s.Run(ctx, slices.Concat(c.tool, strings.Fields(l))...); err != nil {
				return err
			}
		}
		return nil
	}
	const file = "/run/rxelab/moves"
	text := strings.Join(c.lines, "\n") + "\n"
	if err := s.Put(ctx, file, 0o644, strings.NewReader(text)); err != nil {
		return err
	}
	if _, err := s.Run(ctx, slices.Concat(c.tool, []string{"-batch", file})...); err != nil {
		return fmt.Errorf("%w; the commands were:\n%s", err, text)
	}
	return nil
}

// moves returns the commands, in order, that move the interfaces to another user. An interface
// loses its addresses, its neighbours and rxe's device when it leaves a namespace, and rxe's
// device must be removed before.
func (s *side) moves(to user) []commands {
	if s.user == to {
		return nil
	}
	var free, leave, equip, use []string
	other := newSide(1 - s.index)
	for w, e := range s.ends {
		free = append(free, "link delete "+e.Device)
		equip = append(equip, machine.Addressing(e.netdev, e.End, other.ends[w].End, other.ends[w].mac)...)
		use = append(use, fmt.Sprintf("link add %s type rxe netdev %s", e.Device, e.netdev))
		// Process 1 is in the initial namespace.
		leave = append(leave,
			fmt.Sprintf("link set %s netns %s", e.netdev, map[user]string{byRxe: "1", byGorxe: sideNetns}[to]))
	}
	here, there := []string{"ip"}, []string{"ip", "-n", sideNetns}
	var out []commands
	switch {
	case s.user == byRxe:
		out = append(out, commands{[]string{"rdma"}, free}, commands{here, leave})
	case s.user == byGorxe:
		out = append(out, commands{there, leave})
	case to == byGorxe:
		out = append(out, commands{here, leave})
	}
	if to == byGorxe {
		return append(out, commands{there, equip})
	}
	return append(out, commands{here, equip}, commands{[]string{"rdma"}, use})
}

// give moves the interfaces to a user.
func (s *side) give(ctx context.Context, to user) error {
	for _, c := range s.moves(to) {
		if err := c.run(ctx, s.VM.Session); err != nil {
			return err
		}
	}
	s.user = to
	if to != byRxe {
		return nil
	}
	for w := range s.ends {
		if err := s.ends[w].awaitGIDs(ctx, s.VM.Session); err != nil {
			return err
		}
	}
	return nil
}

const gidPoll = 100 * time.Millisecond

// awaitGIDs waits until the kernel has added the GIDs of the addresses to rxe's device, shortly
// after it was made.
func (e *wireEnd) awaitGIDs(ctx context.Context, s *vm.Session) error {
	ctx, cancel := context.WithTimeout(ctx, machine.GraceDone)
	defer cancel()
	tick := time.NewTicker(gidPoll)
	defer tick.Stop()
	for {
		gid, err := machine.GIDs(ctx, s, e.End)
		if err == nil {
			e.GID = gid
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// name renames the interfaces, because the kernel numbers them in any order, and makes the
// namespace of gorxe.
func (s *side) name(ctx context.Context) error {
	const dir = "/sys/class/net/"
	files, err := s.VM.ReadFiles(ctx, dir+"*/address")
	if err != nil {
		return err
	}
	for _, e := range s.ends {
		found := false
		for file, mac := range files {
			if strings.TrimSpace(mac) != e.mac {
				continue
			}
			found = true
			old := strings.TrimSuffix(strings.TrimPrefix(file, dir), "/address")
			if _, err := s.VM.Run(ctx, "ip", "link", "set", old, "name", e.netdev); err != nil {
				return err
			}
		}
		if !found {
			return fmt.Errorf("the machine has no interface with the address %s, which QEMU was told to give it", e.mac)
		}
	}
	if _, err := s.VM.Run(ctx, "ip", "netns", "add", sideNetns); err != nil {
		return err
	}
	_, err = s.VM.Run(ctx, "ip", "-n", sideNetns, "link", "set", "lo", "up")
	return err
}
