//go:build linux && (amd64 || arm64)

package programs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// Response buffers of the commands of two threads: package variables are not moved.
var response, eventResponse [512]byte

func roomAt(b *[512]byte) uint64 { return uint64(uintptr(unsafe.Pointer(b))) }

// command writes a command of rdma_cm, with a response buffer.
func command(channel int, cmd uapi.UCMCommand, req any) error {
	body := uapi.Encode(req)
	b := append(uapi.Encode(uapi.UCMCmdHdr{Cmd: uint32(cmd), In: uint16(len(body)),
		Out: uint16(len(response))}), body...)
	switch n, err := unix.Write(channel, b); {
	case err != nil:
		return fmt.Errorf("%v: %w", cmd, err)
	case n != len(b):
		return fmt.Errorf("%v: the kernel has taken %d bytes of %d", cmd, n, len(b))
	}
	return nil
}

// nextEvent waits for an event, unless the channel is non-blocking.
func nextEvent(channel int) (uapi.UCMEventResp, error) {
	if err := command(channel, uapi.UCMCmdGetEvent, uapi.UCMGetEvent{Response: roomAt(&eventResponse)}); err != nil {
		return uapi.UCMEventResp{}, err
	}
	return uapi.DecodeAs[uapi.UCMEventResp](uapi.Truncate(eventResponse[:], uapi.SizeOf(uapi.UCMEventResp{})))
}

func openChannel(flags int) (int, error) {
	return unix.Open(cmFile, unix.O_RDWR|unix.O_CLOEXEC|flags, 0)
}

// programOfConnections reads the address of its device.
func programOfConnections() error {
	var text string
	if _, err := fmt.Scanln(&text); err != nil {
		return err
	}
	to := netip.AddrPortFrom(netip.MustParseAddr(text), 7)
	first, err := openChannel(unix.O_NONBLOCK)
	if err != nil {
		return err
	}
	for _, set := range []bool{true, false, true} {
		if err := unix.SetNonblock(first, set); err != nil {
			return err
		}
		if set {
			if _, err := nextEvent(first); !errors.Is(err, unix.EAGAIN) {
				return fmt.Errorf("no event waits in a channel that does not block: %w, want EAGAIN", err)
			}
			continue
		}
		if err := awaitEvent(first, to); err != nil {
			return err
		}
	}
	return migrate(first)
}

// identifier is the number of the identifier that programOfConnections creates.
var identifier uint32

// awaitEvent waits for an event that arrives after the waiting thread has got signals.
func awaitEvent(channel int, to netip.AddrPort) error {
	err := command(channel, uapi.UCMCmdCreateID, uapi.UCMCreateID{
		UID: 5, Response: roomAt(&response), PS: uint16(uapi.PortSpaceTCP),
	})
	if err != nil {
		return err
	}
	made, err := uapi.DecodeAs[uapi.UCMCreateIDResp](response[:4])
	if err != nil {
		return err
	}
	identifier = made.ID
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	thread, result := make(chan int, 1), make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		thread <- unix.Gettid()
		e, err := nextEvent(channel)
		if err == nil && (e.UID != 5 || uapi.UCMEvent(e.Event) != uapi.UCMEventAddrResolved || e.Status != 0) {
			err = fmt.Errorf("the event is %+v", e)
		}
		result <- err
	}()
	tid := <-thread
	for range 3 {
		// /proc shows its system call while it waits.
		want := fmt.Appendf(nil, "%d 0x%x ", unix.SYS_WRITE, channel)
		for is := []byte(nil); !bytes.HasPrefix(is, want); {
			if is, err = os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", tid)); err != nil {
				return err
			}
		}
		if err := unix.Tgkill(unix.Getpid(), tid, unix.SIGUSR1); err != nil {
			return err
		}
		<-signals // no handler runs before the call has ended
	}
	if err := command(channel, uapi.UCMCmdResolveIP, uapi.UCMResolveIP{
		DstAddr: uapi.NewSockaddr(to), ID: identifier, TimeoutMs: 60_000,
	}); err != nil {
		return err
	}
	return <-result
}

// migrate moves the identifier to another channel.
func migrate(from int) error {
	to, err := openChannel(0)
	if err != nil {
		return err
	}
	move := uapi.UCMMigrateID{Response: roomAt(&response), ID: identifier, FD: 0}
	if err := command(to, uapi.UCMCmdMigrateID, move); !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("from the standard input: %w, want EINVAL", err)
	}
	move.FD = uint32(from)
	if err := command(to, uapi.UCMCmdMigrateID, move); err != nil {
		return err
	}
	moved, err := uapi.DecodeAs[uapi.UCMMigrateResp](response[:4])
	if err != nil || moved.EventsReported != 1 {
		return fmt.Errorf("%+v, %w: want 1 event", moved, err)
	}
	end := uapi.UCMDestroyID{Response: roomAt(&response), ID: identifier}
	if err := command(from, uapi.UCMCmdDestroyID, end); !errors.Is(err, unix.EINVAL) {
		return fmt.Errorf("an identifier that has left the channel: %w, want EINVAL", err)
	}
	return reportDone(command(to, uapi.UCMCmdDestroyID, end))
}

func TestCallsOfRDMACMWaitAndAreInterruptedAndFindOtherChannels(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		const addr = "127.55.17.5"
		p, in, out := startOwn(t, w.hostOn(t, addr), "connections")
		fmt.Fprintln(in, addr)
		line, err := bufio.NewReader(out).ReadString('\n')
		if line != "done\n" {
			t.Errorf("the program says %q, %v", line, err)
		}
		in.Close()
		if s := p.proc.Wait(); s.ExitStatus() != 0 {
			t.Errorf("the program ended with %d (signal %v)", s.ExitStatus(), s.Signal())
		}
	})
}

// programOfOneListener listens at an address that it reads from its input.
func programOfOneListener() error {
	var text string
	if _, err := fmt.Scanln(&text); err != nil {
		return err
	}
	channel, err := openChannel(0)
	if err != nil {
		return err
	}
	err = command(channel, uapi.UCMCmdCreateID, uapi.UCMCreateID{
		UID: 5, Response: roomAt(&response), PS: uint16(uapi.PortSpaceTCP),
	})
	if err != nil {
		return err
	}
	made, err := uapi.DecodeAs[uapi.UCMCreateIDResp](response[:4])
	if err != nil {
		return err
	}
	at := uapi.NewSockaddr(netip.MustParseAddrPort(text))
	return reportDone(errors.Join(
		command(channel, uapi.UCMCmdBindIP, uapi.UCMBindIP{Addr: at, ID: made.ID}),
		command(channel, uapi.UCMCmdListen, uapi.UCMListen{ID: made.ID})))
}

func TestAKilledProgramLeavesNoListener(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		const addr = "127.55.17.6"
		h, dev := w.deviceOn(t, addr)
		for range 3 { // at the same port
			p, in, out := startOwn(t, h, "listener")
			fmt.Fprintln(in, addr+":22070")
			awaitDone(t, out)
			if all := dev.Listeners(); len(all) != 1 || !strings.HasSuffix(all[0].Local.String(), ":22070") {
				t.Errorf("%+v", all)
			}
			p.end()
			until(t, "the listener has ended", func() bool { return len(dev.Listeners()) == 0 })
		}
	})
}
