//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/internal/trap"
	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// ownPrograms are test programs that call the kernel as libibverbs does.
var ownPrograms = map[string]func() error{
	"opens":       func() error { return reportDone(repeat(openAndClose)) },
	"channels":    programOfChannels,
	"listener":    programOfOneListener,
	"connections": programOfConnections,
	"twice":       programThatOpensTwice,
	"image":       programThatExecutes,
	"parent":      programThatPassesItsDevice,
	"child":       programWithADeviceOfItsParent,
}

// times is the number of repetitions in programs.
const times = 10_000

func repeat(f func() error) error {
	for i := range times {
		if err := f(); err != nil {
			return fmt.Errorf("round %d: %w", i, err)
		}
	}
	return nil
}

// reportDone reports to the test that a program is done, and waits until it may end.
func reportDone(err error) error {
	if err != nil {
		return err
	}
	fmt.Println("done")
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// openDevice opens the device with its asynchronous events.
func openDevice() (device, async int, err error) {
	if device, err = unix.Open(deviceFiles+"/uverbs0", unix.O_RDWR|unix.O_CLOEXEC, 0); err != nil {
		return 0, 0, err
	}
	a := []uapi.Attr{{AttrID: number16(uapi.AttrAsyncEventAllocFDHandle), Flags: uapi.AttrMandatory}}
	out, err := verbsCall(device, uapi.MethodAsyncEventAlloc, a)
	if err != nil {
		return 0, 0, errors.Join(err, unix.Close(device))
	}
	return device, int(out[0].Data), nil
}

// number16 is the number of an attribute in calls.
func number16(id uapi.AttrID) uint16 { return uint16(id) }

// verbsCall calls a method and returns the attributes afterwards.
func verbsCall(device int, m uapi.Method, attrs []uapi.Attr) ([]uapi.Attr, error) {
	b := (&uapi.Call{Method: m, DriverID: uapi.DriverRXE, Attrs: attrs}).Bytes()
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(device), uapi.VerbsIoctl, uintptr(unsafe.Pointer(&b[0])))
	runtime.KeepAlive(b)
	if errno != 0 {
		return nil, fmt.Errorf("%v: %w", m, errno)
	}
	done, err := uapi.ParseCall(b)
	if err != nil {
		return nil, err
	}
	return done.Attrs, nil
}

func openAndClose() error {
	device, async, err := openDevice()
	if err != nil {
		return err
	}
	return errors.Join(unix.Close(async), unix.Close(device))
}

// answer is the buffer of responses; a package variable is not moved.
var answer [4]byte

// programOfChannels makes completion channels of one context and closes them.
func programOfChannels() error {
	device, _, err := openDevice()
	if err != nil {
		return err
	}
	return reportDone(repeat(func() error {
		attrs := []uapi.Attr{
			{AttrID: number16(uapi.AttrWriteCmd), Flags: uapi.AttrMandatory, Len: 8,
				Data: uint64(uapi.CmdCreateCompChannel)},
			{AttrID: number16(uapi.AttrCoreIn), Flags: uapi.AttrMandatory, Len: 8},
			{AttrID: number16(uapi.AttrCoreOut), Flags: uapi.AttrMandatory, Len: uint16(len(answer)),
				Data: uint64(uintptr(unsafe.Pointer(&answer)))},
		}
		_, err := verbsCall(device, uapi.MethodInvokeWrite, attrs)
		if err != nil {
			return err
		}
		made, err := uapi.DecodeAs[uapi.CreateCompChannelResp](answer[:])
		return errors.Join(err, unix.Close(int(made.FD)))
	}))
}

// awaitDone waits for reportDone.
func awaitDone(t *testing.T, out *os.File) {
	t.Helper()
	if text, err := io.ReadAll(io.LimitReader(out, 5)); string(text) != "done\n" {
		t.Fatalf("the program says %q, %v", text, err)
	}
}

func TestNothingIsHeldOfOpensThatTheProgramHasClosed(t *testing.T) {
	h := hostOn(t, "127.55.15.31")
	p, _, out := startOwn(t, h, "opens")
	awaitDone(t, out)
	until(t, "all opens have ended", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.opens) == 0
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.processes) != 0 || p.srv.Files() != 0 {
		t.Errorf("%d processes and %d files are held after %d opens", len(h.processes), p.srv.Files(), times)
	}
}

func TestEventFilesThatTheProgramHasClosedAreForgotten(t *testing.T) {
	h := hostOn(t, "127.55.15.32")
	_, _, out := startOwn(t, h, "channels")
	awaitDone(t, out)
	until(t, "all channels have ended", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		left := 0
		for _, o := range h.opens {
			for _, e := range o.events {
				if !hasEnded(e) {
					left++
				}
			}
		}
		return left == 1 // that of asynchronous events
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.opens) != 1 {
		t.Errorf("%d opens are held, want 1", len(h.opens))
	}
	for _, o := range h.opens {
		if len(o.events) == times+1 {
			t.Errorf("all %d event files are held", len(o.events))
		}
	}
}

// eventFile is an event file that has ended or not.
type eventFile bool

func (e eventFile) Ended() bool { return bool(e) }

func TestEventFilesThatHaveEndedAreAtMostAsManyAsTheOthers(t *testing.T) {
	o := &open{events: map[trap.Inode]any{}}
	for live := range 100 {
		o.add(trap.Inode{Dev: 1, Ino: uint64(live)}, eventFile(false))
		for i := range 1000 {
			o.add(trap.Inode{Dev: 2, Ino: uint64(i)}, eventFile(true))
			if most := max(minPruneAt, 2*(live+1)) + 1; len(o.events) > most {
				t.Fatalf("%d event files are held, %d of them have not ended: want at most %d", len(o.events),
					live+1, most)
			}
		}
	}
}

// programThatPassesItsDevice starts a program that has its device as descriptor 3.
func programThatPassesItsDevice() error {
	device, _, err := openDevice()
	if err != nil {
		return err
	}
	child := exec.Command("/proc/self/exe")
	child.Env = append(os.Environ(), programVariable+"=child")
	child.Stdout, child.Stderr = os.Stdout, os.Stderr
	child.ExtraFiles = []*os.File{os.NewFile(uintptr(device), "device")}
	return child.Run()
}

func programWithADeviceOfItsParent() error {
	a := []uapi.Attr{{AttrID: number16(uapi.AttrAsyncEventAllocFDHandle), Flags: uapi.AttrMandatory}}
	if _, err := verbsCall(3, uapi.MethodAsyncEventAlloc, a); !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("a call on the device of another process: %w, want EPERM", err)
	}
	if _, _, err := openDevice(); err != nil {
		return fmt.Errorf("an open of one's own: %w", err)
	}
	return nil
}

// Arguments of a call are read from, and responses written to, the memory of the process that
// opened the device.
func TestOnlyTheProcessThatOpenedTheDeviceMakesCallsOnIt(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.30")
		p, _, _ := startOwn(t, h, "parent")
		if s := p.proc.Wait(); s.ExitStatus() != 0 {
			t.Errorf("the program ended with %d (signal %v)", s.ExitStatus(), s.Signal())
		}
	})
}
