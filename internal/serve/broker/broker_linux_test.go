package broker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/mr"
	"golang.org/x/sys/unix"
)

func TestTheDescriptionOfTheDeviceComesFirst(t *testing.T) {
	r := newRig(t, nil)
	for _, name := range []string{"", "roce0", "eth0"} {
		c, err := Dial(t.Context(), r.socket, Request{Device: name})
		if err != nil {
			t.Fatal(err)
		}
		if d := c.Description(); d.DeviceName != "roce0" || d.Attr().NodeGUID != 7 {
			t.Errorf("%+v", d)
		}
		c.Close()
	}
	var refused *RefusedError
	if _, err := Dial(t.Context(), r.socket, Request{Device: "eth1"}); !errors.As(err, &refused) ||
		!errors.Is(err, unix.ENODEV) {
		t.Errorf("a device that is not there: %v", err)
	}
}

func TestAClientThatWantsANetworkNamespaceGetsNoDeviceOfAnother(t *testing.T) {
	r := newRig(t, func(c *Config) { c.NetNS = "4026531840" })
	for netns, want := range map[string]error{"": nil, "4026531840": nil, "4026532288": unix.ENODEV} {
		c, err := Dial(t.Context(), r.socket, Request{Device: "eth0", NetNS: netns})
		if !errors.Is(err, want) {
			t.Errorf("namespace %q: %v, want %v", netns, err, want)
		}
		if err == nil {
			c.Close()
		}
	}
}

func TestACallReachesItsObjectAndItsResultComesBack(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	first, second := r.open(c, 1), r.open(c, 1)
	r.service.answers(func(_ context.Context, o *file, _ Caller, c Call) (int64, error) {
		n := int64(1)
		if o == r.service.files()[1] {
			n = 2
		}
		if c.Write {
			return n + int64(len(c.Data))*10, nil
		}
		return 0, fmt.Errorf("%d %d: %w", c.Cmd, c.Arg, uapi.Errno(c.Arg))
	})
	for _, x := range []struct {
		object uint32
		what   Call
		want   answer
	}{
		{first, Call{Write: true, Data: []byte("abc"), Size: 3}, answer{31, 0}},
		{second, Call{Write: true, Data: make([]byte, MaxWrite), Size: MaxWrite + 5}, answer{2 + MaxWrite*10, 0}},
		{second, Call{Cmd: 3, Arg: uint64(unix.ENOMEM)}, answer{0, unix.ENOMEM}},
		{first, Call{Cmd: 3}, answer{0, 0}},
		{77, Call{}, answer{0, unix.EBADF}},
	} {
		if got := callOf(c, x.object, x.what, newThread()); got != x.want {
			t.Errorf("%+v", got)
		}
	}
}

func TestOnlyTheProcessThatOpenedAnObjectMakesCallsOnIt(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	object := r.open(c, 2)
	r.service.answers(func(context.Context, *file, Caller, Call) (int64, error) {
		t.Error("the call has reached the object")
		return 0, nil
	})
	// The object belongs to process 1.
	if got := callOf(c, object, Call{Cmd: 1}, newThread()); got != (answer{0, unix.EPERM}) {
		t.Errorf("%+v", got)
	}
}

func TestAnObjectUsesTheMemoryOfTheProgram(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	object := r.open(c, 1)
	text := []byte("before")
	comm, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	r.service.answers(func(_ context.Context, o *file, _ Caller, c Call) (int64, error) {
		b := make([]byte, 6)
		if err := o.space.Read(b, c.Arg); err != nil || string(b) != "before" {
			t.Errorf("%q, %v", b, err)
		}
		if err := o.space.Write([]byte("after!"), c.Arg); err != nil {
			t.Error(err)
		}
		if err := o.space.Read(b, 8); err == nil {
			t.Error("memory that is not mapped was read")
		}
		if m, err := o.space.Register(c.Arg, 6, 0); err != nil || m.Size() != 6 {
			t.Errorf("registered: %v, %v", m, err)
		}
		if want := fmt.Sprintf("%d %s", os.Getpid(), bytes.TrimSpace(comm)); o.space.Owner() != want {
			t.Errorf("the owner is %q, want %q", o.space.Owner(), want)
		}
		return 0, nil
	})
	if got := callOf(c, object, Call{Arg: uint64(uintptr(unsafe.Pointer(&text[0])))}, newThread()); got != (answer{}) {
		t.Errorf("%+v", got)
	}
	if string(text) != "after!" {
		t.Errorf("%q", text)
	}
}

func TestContextsAreCountedByTheirProcesses(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	for _, process := range []uint32{1, 1, 2} {
		r.open(c, process)
	}
	if u := r.server.quota.used(); u[Processes] != 2 || u[Contexts] != 3 {
		t.Errorf("in use: %v", u)
	}
	if all := r.server.Programs(); len(all) != 2 || all[0].Contexts+all[1].Contexts != 3 {
		t.Errorf("%+v", all)
	}
	c.Exit(1)
	callOf(c, 77, Call{}, newThread()) // is answered afterwards
	if u := r.server.quota.used(); u[Processes] != 2 {
		t.Errorf("in use by objects of a process that has ended: %v", u)
	}
	for _, o := range r.service.files() {
		o.Close()
	}
	if u := r.server.quota.used(); u[Processes] != 0 || u[Contexts] != 0 {
		t.Errorf("in use after the end of all objects: %v", u)
	}
}

func TestAClientThatClosesAfterAPingKnowsWhetherTheServerHasEnded(t *testing.T) {
	answers := func(server *link) error {
		f, _, err := server.receive()
		if err != nil {
			return err
		}
		return server.send(&frame{kind: kindReply, call: f.call})
	}
	for name, c := range map[string]struct {
		server   func(*link) error // action of the server before the client closes
		patience time.Duration
		sends    bool // a message before that
		want     error
	}{
		"the server goes on":    {server: answers, patience: time.Hour},
		"the server is stopped": {server: func(*link) error { return nil }, patience: time.Millisecond},
		"the server has ended":  {server: (*link).close, patience: time.Hour, want: io.EOF},
		"the server has ended, and a message fails": {
			server: (*link).close, patience: time.Hour, sends: true, want: io.EOF,
		},
		"the server is about to end": {patience: time.Hour, want: io.EOF, server: func(server *link) error {
			_, _, err := server.receive()
			return errors.Join(err, server.close())
		}},
	} {
		t.Run(name, func(t *testing.T) {
			ours, theirs := pair(t)
			defer theirs.Close()
			client, server := newClient(ours), newLink(theirs, true, time.Hour)
			served := make(chan error, 1)
			if c.sends { // to a server that has closed
				served <- c.server(server)
				client.Exit(1)
			} else {
				go func() { served <- c.server(server) }()
			}
			client.Start(quiet{})
			client.Ping(c.patience)
			if err := <-served; err != nil {
				t.Error(err)
			}
			if err := client.Close(); err != nil {
				t.Error(err)
			}
			if err := client.Err(); err != c.want {
				t.Errorf("%v, want %v", err, c.want)
			}
			client.Ping(time.Hour) // on a connection that has ended
		})
	}
}

func TestBeforeExecveDirectCopiesEnd(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	for _, process := range []uint32{1, 1, 2} {
		r.open(c, process)
	}
	direct := func() (n int) {
		for _, o := range r.service.files() {
			if o.space.(*space).Direct() {
				n++
			}
		}
		return n
	}
	if n := direct(); n != 3 {
		t.Errorf("%d of 3 address spaces are copied directly", n)
	}
	if err := c.Exec(1); err != nil {
		t.Error(err)
	}
	if n := direct(); n != 1 {
		t.Errorf("%d address spaces are copied directly after EXEC of a process with two of three", n)
	}
	if err := c.Exec(3); err != nil {
		t.Errorf("EXEC of a process that has opened nothing: %v", err)
	}
	c.Close()
	<-c.Done()
	if err := c.Exec(2); err != nil {
		t.Errorf("EXEC after the end of the connection: %v", err)
	}
}

// After execve an earlier address space of the process may survive in another process (CLONE_VM).
func TestAnOpenUsesTheAddressSpaceThatItComesWith(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	r.open(c, 1)
	image := exec.Command("cat")
	in, err := image.StdinPipe()
	if err == nil {
		err = image.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer image.Wait()
	defer in.Close()
	p := openProcess(t, image.Process.Pid)
	defer p.close()
	f, _, err := c.Open(1, Verbs, p[fileDir], p[fileMem], p[fileMaps])
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	files := r.service.files()
	if owner := files[1].space.Owner(); !strings.HasPrefix(owner, strconv.Itoa(image.Process.Pid)+" ") {
		t.Errorf("the memory of the second open is that of %q", owner)
	}
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", image.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	var start uint64
	if _, err := fmt.Sscanf(string(maps), "%x-", &start); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if err := files[1].space.Read(b, start); err != nil || string(b) != "\x7fELF" {
		t.Errorf("the second open reads %q, %v", b, err)
	}
	if err := files[0].space.Read(b, uint64(uintptr(unsafe.Pointer(&word)))); err != nil {
		t.Errorf("the first open: %v", err)
	}
}

// word is memory that is not moved.
var word atomic.Uint64

func TestAtomicsThroughAllContextsOfAProcessAreAtomic(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	r.open(c, 1)
	r.open(c, 1)
	const each = 20_000
	word.Store(0)
	var all sync.WaitGroup
	for _, o := range r.service.files() {
		m, err := o.space.Register(uint64(uintptr(unsafe.Pointer(&word))), 8, mr.LocalWrite|mr.RemoteAtomic)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range each {
				if _, err := m.(mr.AtomicMemory).FetchAddAt(0, 1); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if got := word.Load(); got != 2*each {
		t.Errorf("the word is %d, want %d", got, 2*each)
	}
}

func TestACallSeesWhatItsProcessHasOpened(t *testing.T) {
	r := newRig(t, nil)
	c, other := r.dial(), r.dial()
	object := r.open(c, 1)
	r.open(c, 1)
	r.open(c, 2)
	r.open(other, 1)
	files := r.service.files()
	r.service.answers(func(_ context.Context, _ *file, from Caller, _ Call) (int64, error) {
		all := from.Opened()
		if len(all) != 2 || !slices.Contains(all, Object(files[0])) || !slices.Contains(all, Object(files[1])) {
			t.Errorf("%d objects: %v", len(all), all)
		}
		return 1, nil
	})
	if got := callOf(c, object, Call{}, newThread()); got.result != 1 {
		t.Errorf("%+v", got)
	}
}

func TestACallSaysWhetherItsDescriptorBlocks(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	object := r.open(c, 1)
	r.service.answers(func(_ context.Context, _ *file, _ Caller, c Call) (int64, error) {
		if c.NonBlock {
			return 1, nil
		}
		return 2, nil
	})
	for _, nonBlock := range []bool{true, false} {
		want := map[bool]int64{true: 1, false: 2}[nonBlock]
		if got := callOf(c, object, Call{Write: true, NonBlock: nonBlock}, newThread()); got.result != want {
			t.Errorf("%v: %+v", nonBlock, got)
		}
	}
}

func TestWhatIsInstalledIsFoundAgainByItsOwnClientOnly(t *testing.T) {
	r := newRig(t, nil)
	c, other := r.dial(), r.dial()
	object, theirs := r.open(c, 1), r.open(other, 1)
	found := make(chan any, 1)
	given := new(int)
	r.service.answers(func(_ context.Context, _ *file, from Caller, c Call) (int64, error) {
		if c.Cmd == 1 {
			fd, err := from.Install(os.Stdin, given)
			return int64(fd), err
		}
		found <- from.Object(int32(c.Arg))
		return 0, nil
	})
	th := newThread()
	var number atomic.Uint32
	th.install = func(f *os.File, object uint32, closeOnExec bool) (int, error) {
		var a, b unix.Stat_t
		if err := errors.Join(unix.Fstat(int(f.Fd()), &a), unix.Fstat(0, &b)); err != nil || a.Ino != b.Ino ||
			!closeOnExec {
			t.Errorf("another file was installed: %v", err)
		}
		number.Store(object)
		return 42, nil
	}
	if got := callOf(c, object, Call{Cmd: 1}, th); got != (answer{42, 0}) {
		t.Fatalf("%+v", got)
	}
	finder := newThread()
	finder.find = func(fd int32) uint32 {
		if fd == 42 {
			return number.Load()
		}
		return 0
	}
	for _, x := range []struct {
		client *Client
		object uint32
		fd     uint64
		want   any
	}{{c, object, 42, given}, {c, object, 41, nil}, {other, theirs, 42, nil}} {
		if got := callOf(x.client, x.object, Call{Arg: x.fd}, finder); got != (answer{}) {
			t.Errorf("descriptor %d: %+v", x.fd, got)
		}
		if o := <-found; o != x.want {
			t.Errorf("descriptor %d is %v", x.fd, o)
		}
	}
	full := newThread()
	full.install = func(*os.File, uint32, bool) (int, error) { return 0, unix.EMFILE }
	before := r.server.quota.used()
	if got := callOf(c, object, Call{Cmd: 1}, full); got.errno != unix.EMFILE {
		t.Errorf("%+v", got)
	}
	if after := r.server.quota.used(); after != before {
		t.Errorf("what was not installed counts: %v, before %v", after, before)
	}
}

func TestAnInterruptedCallEndsEarly(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	object := r.open(c, 1)
	waiting := make(chan struct{})
	r.service.answers(func(ctx context.Context, _ *file, _ Caller, _ Call) (int64, error) {
		close(waiting)
		<-ctx.Done()
		return 0, uapi.EINTR
	})
	th := newThread()
	interrupt := c.Call(object, 1, Call{}, th)
	<-waiting
	interrupt()
	if got := <-th.answers; got.errno != unix.EINTR {
		t.Errorf("%+v", got)
	}
	interrupt() // no effect after the answer
	r.service.answers(func(context.Context, *file, Caller, Call) (int64, error) { return 5, nil })
	if got := callOf(c, object, Call{}, th); got.result != 5 {
		t.Errorf("%+v", got)
	}
}

func TestAllEndsWithTheConnection(t *testing.T) {
	empty := make(chan struct{}, 8)
	r := newRig(t, func(c *Config) {
		c.Idle, c.OnIdle = 1, func() {}
		c.After = func(time.Duration, func()) func() bool { empty <- struct{}{}; return func() bool { return true } }
	})
	<-empty
	before := countDescriptors(t)
	c := r.dial()
	object := r.open(c, 1)
	r.open(c, 2)
	waiting := make(chan struct{})
	r.service.answers(func(ctx context.Context, _ *file, from Caller, c Call) (int64, error) {
		if c.Cmd == 1 {
			n, err := from.Install(os.Stdin, 1)
			return int64(n), err
		}
		close(waiting)
		<-ctx.Done()
		return 0, uapi.EINTR
	})
	th := newThread()
	th.install = func(*os.File, uint32, bool) (int, error) { return 3, nil }
	callOf(c, object, Call{Cmd: 1}, th)
	c.Call(object, 1, Call{}, th)
	<-waiting
	c.Close()
	if got := <-th.answers; got.errno != unix.EIO {
		t.Errorf("a call under way: %+v", got)
	}
	for _, o := range r.service.files() {
		<-o.closed
	}
	<-empty
	if left := r.server.quota.used(); left != (counts{}) {
		t.Errorf("in use: %v", left)
	}
	if after := countDescriptors(t); after > before {
		t.Errorf("%d descriptors are open, before there were %d", after, before)
	}
}

func TestADeviceFileIsDroppedAfterItsProcess(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	r.open(c, 1)
	r.open(c, 2)
	c.Exit(1)
	<-r.service.files()[0].dropped
	select {
	case <-r.service.files()[1].dropped:
		t.Error("the file of another process was dropped")
	default:
	}
}

// ended receives objects that ended.
type ended chan uint32

func (e ended) Ended(object uint32) { e <- object }
func (ended) Changed(Description)   {}

func TestTheClientHearsOfTheEndOfAnObject(t *testing.T) {
	r := newRig(t, nil)
	c, err := Dial(t.Context(), r.socket, Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	e := make(ended, 1)
	c.Start(e)
	first := r.open(c, 1)
	c.Release(first)
	if got := <-e; got != first {
		t.Errorf("object %d ended, want %d", got, first)
	}
	second := r.open(c, 1)
	r.service.files()[1].Close()
	if got := <-e; got != second {
		t.Errorf("object %d ended, want %d", got, second)
	}
	if u := r.server.quota.used(); u[Contexts] != 0 {
		t.Errorf("in use: %v", u)
	}
}

func TestCallsFailAfterTheEndOfTheServer(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	object := r.open(c, 1)
	r.stop()
	<-c.Done()
	if err := c.Err(); err == nil {
		t.Error("the client does not know that the server has ended")
	}
	if got := callOf(c, object, Call{}, newThread()); got.errno != unix.EIO {
		t.Errorf("%+v", got)
	}
	p := openSelf(t)
	defer p.close()
	if _, _, err := c.Open(1, Verbs, p[fileDir], p[fileMem], p[fileMaps]); !errors.Is(err, unix.EIO) {
		t.Errorf("an open: %v", err)
	}
}

func TestAnOpenThatFailsLeavesNothing(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	r.service.fails(uapi.ENOMEM)
	p := openSelf(t)
	defer p.close()
	if _, _, err := c.Open(1, Verbs, p[fileDir], p[fileMem], p[fileMaps]); !errors.Is(err, unix.ENOMEM) {
		t.Errorf("%v", err)
	}
	if _, _, err := c.Open(1, CM, p[fileDir], p[fileMem], p[fileMaps]); !errors.Is(err, unix.ENODEV) {
		t.Errorf("a file that is not there: %v", err)
	}
	if u := r.server.quota.used(); u[Contexts] != 0 {
		t.Errorf("in use: %v", u)
	}
}

func TestOnlyTheMemoryOfAProcessIsTaken(t *testing.T) {
	r := newRig(t, nil)
	c := r.dial()
	self := openSelf(t)
	defer self.close()
	open := func(path string, flags int) *os.File {
		f, err := os.OpenFile(path, flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	dir := t.TempDir()
	fake := filepath.Join(dir, "1")
	if err := os.Mkdir(fake, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]uint32{"mem": unix.S_IFREG, "maps": unix.S_IFREG, "fifo": unix.S_IFIFO} {
		if err := unix.Mknod(filepath.Join(fake, name), mode|0o600, 0); err != nil {
			t.Fatal(err)
		}
	}
	comm := open("/proc/self/comm", os.O_RDWR)
	fifo := open(filepath.Join(fake, "fifo"), os.O_RDWR)
	for name, p := range map[string]proc{
		"a pipe":          {self[fileDir], fifo, self[fileMaps]},
		"a file of /proc": {self[fileDir], comm, self[fileMaps]},
		"memory as maps":  {self[fileDir], self[fileMem], self[fileMem]},
		"maps as memory":  {self[fileDir], self[fileMaps], self[fileMaps]},
		"a directory outside of /proc": {open(fake, unix.O_PATH), open(filepath.Join(fake, "mem"), os.O_RDWR),
			open(filepath.Join(fake, "maps"), os.O_RDONLY)},
		"the directory of another one": {open("/proc/1", unix.O_PATH), self[fileMem], self[fileMaps]},
		"memory opened for reading":    {self[fileDir], open("/proc/self/mem", os.O_RDONLY), self[fileMaps]},
		"no directory":                 {comm, self[fileMem], self[fileMaps]},
	} {
		if _, _, err := c.Open(1, Verbs, p[fileDir], p[fileMem], p[fileMaps]); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if len(r.service.files()) != 0 {
		t.Error("a file was opened")
	}
	r.open(c, 1) // a valid open
}

// A file mounted at the right path is not the right file.
func TestAMountDoesNotDisguiseAFile(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("a mount takes root")
	}
	dir := fmt.Sprintf("/proc/%d", os.Getpid())
	at := filepath.Join(t.TempDir(), "1")
	if err := os.Mkdir(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(dir, at, "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	defer unix.Unmount(at, unix.MNT_DETACH)
	if err := unix.Mount("/proc/self/comm", at+"/mem", "", unix.MS_BIND, ""); err != nil {
		t.Skipf("cannot mount: %v", err)
	}
	defer unix.Unmount(at+"/mem", unix.MNT_DETACH)
	var files [numOpenFiles]int
	for i, x := range []struct {
		path  string
		flags int
	}{{at, unix.O_PATH}, {at + "/mem", unix.O_RDWR}, {at + "/maps", unix.O_RDONLY}} {
		fd, err := unix.Open(x.path, x.flags|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		files[i] = fd
	}
	if _, err := verify(files[:], sender{}); err == nil {
		t.Error("a file that is mounted at the path of memory was taken for it")
	}
}
