package xsk

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

var (
	left, right   = netip.MustParseAddr("198.18.61.1"), netip.MustParseAddr("198.18.61.2")
	left6, right6 = netip.MustParseAddr("fd00:61::1"), netip.MustParseAddr("fd00:61::2")
)

func connect(t testing.TB, mtu int) *testnet.Hosts {
	return testnet.Connect(t, testnet.Cable{
		MTU:  mtu,
		Left: []string{"198.18.61.1/24", "fd00:61::1/64"}, Right: []string{"198.18.61.2/24", "fd00:61::2/64"},
	})
}

// openIn opens an endpoint in a host until the end of the test.
func openIn(t testing.TB, ns netns.NsHandle, addr netip.Addr, o Options) *Endpoint {
	t.Helper()
	e, err := tryOpen(t, ns, addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEnd(t, e) })
	return e
}

func tryOpen(t testing.TB, ns netns.NsHandle, addr netip.Addr, o Options) (e *Endpoint, err error) {
	t.Helper()
	o.Port = testPort
	testnet.In(t, ns, func() error {
		ifc, ierr := net.InterfaceByName(testnet.Interface)
		if ierr != nil {
			return ierr
		}
		e, err = Open(ifc.Index, addr, o)
		return nil
	})
	return e, err
}

func closeEnd(t testing.TB, e *Endpoint) {
	t.Helper()
	if err := e.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// frameTo returns a frame of size bytes to addr, whose content depends on its number.
func frameTo(b []byte, addr netip.Addr, number int) {
	clear(b)
	if addr.Is4() {
		copy(b, frame4()[:14+20+8])
		copy(b[14+16:], addr.AsSlice())
	} else {
		copy(b, frame6()[:14+40+8])
		copy(b[14+24:], addr.AsSlice())
	}
	for i := 62; i < len(b); i++ {
		b[i] = byte(number + i/7)
	}
	binary.BigEndian.PutUint32(b[len(b)-4:], uint32(number))
}

// send sends n frames, numbered from first on.
func send(t testing.TB, e *Endpoint, to netip.Addr, first, n, size int) {
	t.Helper()
	l := e.Lane(0)
	if err := l.Lock(); err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	for i := range n {
		b := l.Put(size)
		for b == nil {
			if _, err := l.Flush(); err != nil {
				t.Fatalf("Flush: %v", err)
			}
			if b = l.Put(size); b == nil {
				l.Wait(0)
			}
		}
		frameTo(b, to, first+i)
	}
	if _, err := l.Flush(); err != nil {
		t.Fatalf("Flush: %v", err)
	}
}

// wait waits until there is something to receive.
func wait(e *Endpoint) {
	var fds []unix.PollFd
	for _, fd := range e.FDs() {
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	_, _ = unix.Poll(fds, 60_000)
}

// expect receives n frames, numbered from first on.
func expect(t testing.TB, e *Endpoint, h *Held, to netip.Addr, first, n, size int) {
	t.Helper()
	want := make([]byte, size)
	for i := 0; i < n; {
		wait(e)
		if e.Recv(h, 64); len(h.Frames) == 0 {
			t.Fatalf("nothing came after %d of %d frames; %d were dropped", i, n, e.Dropped())
		}
		for _, f := range h.Frames {
			frameTo(want, to, first+i)
			if !bytes.Equal(f, want) {
				t.Fatalf("frame %d of %d: got %d bytes % x..., want %d bytes % x...",
					i, n, len(f), f[:min(len(f), 64)], size, want[:64])
			}
			i++
		}
	}
}

// ways are the modes in which an interface can be opened here.
var ways = []struct {
	name string
	o    Options
}{
	{"as it is best", Options{}},
	{"copied", Options{Copy: true}},
	{"in frames of one chunk", Options{Single: true}},
	{"generic", Options{Generic: true}},
}

func TestFramesComeWholeAndInOrder(t *testing.T) {
	for _, w := range ways {
		for _, mtu := range []int{1500, 9000} {
			t.Run(fmt.Sprintf("%s, MTU %d", w.name, mtu), func(t *testing.T) {
				hosts := connect(t, mtu)
				a, b := openIn(t, hosts.Left, left, w.o), openIn(t, hosts.Right, right, w.o)
				t.Log(b.Mode())
				h := NewHeld()
				n := 0
				for _, size := range []int{62, 100, 1000, 1514, 2048, OneBuffer, chunkRoom, chunkRoom + 1, 4096, 4097,
					4180, 2*chunkRoom + 100, 2 * chunkLen} {
					if size > mtu+ethLen || size > a.MaxFrame() {
						continue
					}
					for range 10 {
						send(t, a, right, n, 50, size)
						expect(t, b, h, right, n, 50, size)
						n += 50
					}
				}
				h.Release()
			})
		}
	}
}

// Chunks that several readers return in any order are no longer contiguous.
func TestFramesOfSeveralChunksAreGatheredFromAnywhere(t *testing.T) {
	hosts := connect(t, 9000)
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	if !b.Mode().Several {
		t.Skip("this kernel has no frames of several chunks")
	}
	q := b.ifc.queues[0]
	held := []*Held{NewHeld(), NewHeld(), NewHeld()}
	n, gathered := 0, 0
	for round := range q.rxChunks / 10 {
		for i, h := range held[:1+round%3] {
			// Frames of two or three chunks.
			size := 4180 + (round+i)%2*3800
			send(t, a, right, n, 5, size)
			expect(t, b, h, right, n, 5, size)
			gathered += len(h.loan.gathered)
			n += 5
		}
		for i := range held {
			held[(i+round)%3].Release()
		}
	}
	if gathered == 0 {
		t.Error("no frame was gathered: this test looks at nothing")
	}
	if total := check(t, q); total != q.rxChunks {
		t.Errorf("%d of %d chunks are left", total, q.rxChunks)
	}
}

// check counts the chunks that the kernel holds; each must occur once.
func check(t *testing.T, q *queue) int {
	t.Helper()
	q.memory.Lock()
	defer q.memory.Unlock()
	seen := make(map[uint64]bool)
	q.fill.seen = *q.fill.theirs
	for at := q.fill.seen; at != q.fill.next; at++ {
		c := q.fillAt[at&q.fill.mask]
		if seen[c] {
			t.Errorf("chunk %#x is there twice", c)
		}
		seen[c] = true
	}
	return len(seen)
}

func TestEachAddressGetsItsOwn(t *testing.T) {
	hosts := connect(t, 1500)
	a := openIn(t, hosts.Left, left, Options{})
	b4, b6 := openIn(t, hosts.Right, right, Options{}), openIn(t, hosts.Right, right6, Options{})
	if b4.ifc != b6.ifc {
		t.Fatal("two addresses of an interface do not share it")
	}
	h := NewHeld()
	for i := range 10 {
		send(t, a, right6, i, 1, 100)
		send(t, a, right, i, 1, 100)
		expect(t, b4, h, right, i, 1, 100)
		expect(t, b6, h, right6, i, 1, 100)
	}
	h.Release()
	closeEnd(t, b4)
	// The new endpoint must not receive frames to the old address.
	send(t, a, right, 0, 1, 100)
	send(t, a, right6, 0, 1, 100)
	expect(t, b6, h, right6, 0, 1, 100)
	h.Release()
}

// No chunk is lost when addresses are opened and closed any number of times with unread frames.
func TestAddressesThatComeAndGoLoseNoMemory(t *testing.T) {
	hosts := connect(t, 1500)
	a := openIn(t, hosts.Left, left, Options{})
	stays := openIn(t, hosts.Right, right6, Options{})
	q := stays.ifc.queues[0]
	for i := range q.rxChunks / 1000 {
		e := openIn(t, hosts.Right, right, Options{})
		send(t, a, right, i, 900, 100)
		h := NewHeld()
		expect(t, e, h, right, i, 1, 100)
		closeEnd(t, e)
		h.Release()
	}
	if total := check(t, q); total != q.rxChunks {
		t.Errorf("%d of %d chunks are left", total, q.rxChunks)
	}
	if len(stays.ifc.used) != maxEndpoints || stays.ifc.users != 1 {
		t.Errorf("%d users", stays.ifc.users)
	}
}

func TestAHeldThatIsDroppedGivesItsFramesBack(t *testing.T) {
	hosts := connect(t, 1500)
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	q := b.ifc.queues[0]
	func() {
		send(t, a, right, 0, 10, 100)
		expect(t, b, NewHeld(), right, 0, 10, 100)
	}()
	lent := func() int {
		q.memory.Lock()
		defer q.memory.Unlock()
		return q.onLoan
	}
	for lent() > 0 {
		runtime.GC()
	}
}

func TestFramesStayReadableAfterClose(t *testing.T) {
	hosts := connect(t, 1500)
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	q := b.ifc.queues[0]
	h := NewHeld()
	send(t, a, right, 7, 1, 100)
	expect(t, b, h, right, 7, 1, 100)
	closeEnd(t, b)
	want := make([]byte, 100)
	if frameTo(want, right, 7); !bytes.Equal(h.Frames[0], want) {
		t.Error("the frame is not what it was")
	}
	if b.Recv(h, 64); len(h.Frames) != 0 {
		t.Errorf("a closed endpoint receives %d frames", len(h.Frames))
	}
	if q.mem != nil {
		t.Error("the memory is still there")
	}
}

func TestAClosedEndpointSendsAndTellsNothing(t *testing.T) {
	hosts := connect(t, 1500)
	a := openIn(t, hosts.Left, left, Options{})
	l := a.Lane(5)
	closeEnd(t, a)
	closeEnd(t, a)
	if err := l.Lock(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Lock: %v, want net.ErrClosed", err)
	}
	if a.Pending() || a.Dropped() != 0 {
		t.Error("a closed endpoint has something")
	}
}

func TestPendingUntilTheReceiverComesBack(t *testing.T) {
	hosts := connect(t, 1500)
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	h := NewHeld()
	if b.Pending() {
		t.Error("pending before anything was sent")
	}
	send(t, a, right, 0, 1, 100)
	wait(b)
	if !b.Pending() {
		t.Error("a frame that waits is not pending")
	}
	expect(t, b, h, right, 0, 1, 100)
	if !b.Pending() {
		t.Error("a frame that was taken is not pending although the receiver has not come back")
	}
	if b.Recv(h, 64); b.Pending() {
		t.Error("pending although the receiver found nothing")
	}
}

func TestFramesWithoutRoomAreCounted(t *testing.T) {
	hosts := connect(t, 1500)
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	room := b.ifc.queues[0].rxRing()
	for i := 0; i < room+500; i += 50 {
		send(t, a, right, i, 50, 100)
	}
	if got := b.Dropped(); got != 500 && got != 500+uint64(50-(room+500)%50)%50 {
		t.Errorf("%d dropped, want 500", got)
	}
}

func TestSendingByAnInterfaceThatIsDownIsAnError(t *testing.T) {
	hosts := connect(t, 1500)
	a := openIn(t, hosts.Left, left, Options{})
	testnet.OnInterface(t, hosts.Left, netlink.LinkSetDown)
	l := a.Lane(0)
	if err := l.Lock(); err != nil {
		t.Fatal(err)
	}
	defer l.Unlock()
	frameTo(l.Put(100), right, 1)
	if _, err := l.Flush(); !errors.Is(err, unix.ENETDOWN) {
		t.Errorf("Flush: %v, want ENETDOWN", err)
	}
}

func TestNothingIsAllocated(t *testing.T) {
	hosts := connect(t, 9000)
	a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Right, right, Options{})
	h := NewHeld()
	frame := make([]byte, 4180)
	frameTo(frame, right, 1)
	if !b.Mode().Several {
		frame = frame[:1000]
	}
	one := func() {
		l := a.Lane(0)
		if err := l.Lock(); err != nil {
			t.Fatal(err)
		}
		for range 32 {
			copy(l.Put(len(frame)), frame)
		}
		_, err := l.Flush()
		l.Unlock()
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; n < 32; n += len(h.Frames) {
			b.Recv(h, 64)
		}
	}
	one()
	if n := testing.AllocsPerRun(100, one); n != 0 {
		t.Errorf("%v allocations to send and receive 32 frames, want 0", n)
	}
	h.Release()
}
