package bounce

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Descriptors that a device passes to its program.
const (
	fileFD      = 3 + iota // the shared file
	receivedFD             // pipe: a message of the peer has arrived
	completedFD            // pipe: the peer has the last message
	readyFD                // socket: the program is ready
)

// The shared file has one page. At its beginning the program writes the number of the message to
// send, which is the doorbell; at deliveredAt the device stores the number of the peer's message.
const deliveredAt = 64

// wordAt returns a number in a mapping of the shared file.
func wordAt(page []byte, offset int) *atomic.Uint64 {
	return (*atomic.Uint64)(unsafe.Pointer(&page[offset]))
}

// mapFile maps the shared file.
func mapFile(fd int) ([]byte, error) {
	page, err := unix.Mmap(fd, 0, unix.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping the file that device and program share: %w", err)
	}
	return page, nil
}

// programArgs returns the arguments that a device adds to the command of its program.
func programArgs(w Way, client bool) []string {
	return []string{"-way", string(w), fmt.Sprintf("-client=%v", client)}
}

// Program runs the program of an end. It must be started by a device, with the given arguments
// and with descriptors. It runs until its device kills it, or returns an error when the device
// has ended.
func Program(args []string) error {
	fs := flag.NewFlagSet("bounce-program", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	way := fs.String("way", "", "")
	client := fs.Bool("client", false, "")
	if err := fs.Parse(args); err != nil {
		return fmt.Errorf("bounce-program: %w: bench bounce starts it", err)
	}
	if err := Way(*way).check(); err != nil {
		return fmt.Errorf("bounce-program: %w: bench bounce starts it", err)
	}
	runtime.LockOSThread()
	page, err := mapFile(fileFD)
	if err != nil {
		return err
	}
	var listener []int
	if Way(*way).traps() {
		fd, err := installFilter()
		if err != nil {
			return err
		}
		listener = append(listener, fd)
	}
	if err := unix.Sendmsg(readyFD, []byte{1}, unix.UnixRights(listener...), nil, 0); err != nil {
		return fmt.Errorf("telling the device that its program is ready: %w", err)
	}
	for _, fd := range append(listener, readyFD) {
		if err := unix.Close(fd); err != nil {
			return fmt.Errorf("closing a descriptor: %w", err)
		}
	}
	if err := withoutSignals(); err != nil {
		return err
	}
	l := &loop{exchange: exchange{client: *client}, delivered: wordAt(page, deliveredAt)}
	if *client {
		if err := l.ring(1); err != nil {
			return err
		}
	}
	switch Way(*way) {
	case Events:
		return l.events()
	case Polling:
		return l.polling()
	}
	return l.messages(Way(*way) == Trap)
}

// loop is the state of a program.
type loop struct {
	exchange
	delivered *atomic.Uint64
}

// messages waits for one message after another.
func (l *loop) messages(trap bool) error {
	for {
		n, err := l.await(receivedFD, trap)
		if err != nil {
			return err
		}
		if err := l.ring(l.next(n)); err != nil {
			return err
		}
	}
}

// events waits for two events per message, in the order of perftest: that of the message sent
// last, then that of the peer's message.
func (l *loop) events() error {
	for first := !l.client; ; first = false {
		if !first {
			if _, err := l.await(completedFD, true); err != nil {
				return err
			}
		}
		n, err := l.await(receivedFD, true)
		if err != nil {
			return err
		}
		if err := l.ring(l.next(n)); err != nil {
			return err
		}
	}
}

// polling waits for messages without system calls and without a pause.
func (l *loop) polling() error {
	for last := uint64(0); ; last++ {
		for l.delivered.Load() == last {
		}
		if err := l.ring(l.next(last + 1)); err != nil {
			return err
		}
	}
}

// await reads a number from a pipe and, if trap is set, makes the trapped call that follows in
// unmodified programs: the request for the next event.
func (l *loop) await(fd int, trap bool) (n uint64, err error) {
	var b [unsafe.Sizeof(n)]byte
	switch got, errno := readRaw(fd, b[:]); {
	case errno != 0:
		return 0, fmt.Errorf("waiting for the device: %w", errno)
	case got != len(b):
		return 0, errors.New("waiting for the device: it has ended")
	}
	if trap {
		if errno := ioctlRaw(fileFD, trapped, nil); errno != 0 {
			return 0, fmt.Errorf("a system call that the device answers: %w", errno)
		}
	}
	return *(*uint64)(unsafe.Pointer(&b)), nil
}

// ring tells the device to send message n.
func (l *loop) ring(n uint64) error {
	if errno := storeWord(fileFD, n); errno != 0 {
		return fmt.Errorf("ringing the doorbell: %w", errno)
	}
	return nil
}
