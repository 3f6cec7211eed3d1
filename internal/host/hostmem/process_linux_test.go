package hostmem

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Tests run this binary again as a local program: one of localPrograms, on a file.
const (
	programEnv = "HOSTMEM_TEST_PROGRAM"
	pathEnv    = "HOSTMEM_TEST_PATH"
)

var localPrograms = map[string]func(path string) error{
	"count": countTogether, "watch": watchMessages, "look": lookAtWord, "fill": fillDisk,
}

func TestMain(m *testing.M) {
	program, ok := localPrograms[os.Getenv(programEnv)]
	if !ok {
		os.Exit(m.Run())
	}
	go func() { // end with the test, however it ends
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := program(os.Getenv(pathEnv)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func localProgram(name, path string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), programEnv+"="+name, pathEnv+"="+path)
	return c
}

// beside runs a local program on path while f runs, and fails the test if the program fails.
// ended reports to f whether the program has ended.
func beside(t *testing.T, name, path string, f func(ended func() bool)) {
	t.Helper()
	var out bytes.Buffer
	c := localProgram(name, path)
	c.Stdout, c.Stderr = &out, &out
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var over atomic.Bool
	go func() {
		err := c.Wait()
		over.Store(true)
		done <- err
	}()
	f(over.Load)
	if err := <-done; err != nil {
		t.Errorf("the local program: %v\n%s", err, out.Bytes())
	}
}

// mapWords maps a file as a local program in C or Go does.
func mapWords(path string) ([]byte, []uint64, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	b, err := unix.Mmap(int(f.Fd()), 0, 4*4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	return b, unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8), nil
}

// await polls a word at either end until it is want or the other end is gone.
func await(load func() uint64, want uint64, gone func() bool) bool {
	for load() != want {
		if gone() {
			return load() == want
		}
		runtime.Gosched()
	}
	return true
}

func never() bool { return false }

func (m *Memory) word(t *testing.T, off uint64) func() uint64 {
	return func() uint64 {
		v, err := m.LoadUint64At(off)
		if err != nil {
			t.Error(err)
		}
		return v
	}
}

const (
	additions = 50_000
	rounds    = 2_000
)

// Both ends increment word 0; word 1 means that the program runs.
func countTogether(path string) error {
	_, w, err := mapWords(path)
	if err != nil {
		return err
	}
	atomic.StoreUint64(&w[1], 1)
	for range additions {
		atomic.AddUint64(&w[0], 1)
	}
	return nil
}

func TestAtomicsAreAtomicTowardsOtherProcesses(t *testing.T) {
	path := fileOf(t, make([]byte, 4*4096))
	m := openFile(t, path, FileOptions{})
	beside(t, "count", path, func(ended func() bool) {
		await(m.word(t, 8), 1, ended)
		for i := range additions {
			if i%2 == 0 {
				if _, err := m.FetchAddAt(0, 1); err != nil {
					t.Error(err)
				}
				continue
			}
			for done := false; !done; {
				v := m.word(t, 0)()
				old, err := m.CompareSwapAt(0, v, v+1)
				if err != nil {
					t.Error(err)
				}
				done = old == v
			}
		}
	})
	if got := m.word(t, 0)(); got != 2*additions {
		t.Errorf("both together counted %d, want %d", got, 2*additions)
	}
}

// Messages end before byte messageEnd; the program acknowledges them in word 0.
const (
	messageStart = 4096 - 24
	messageEnd   = 3*4096 + 3
)

// watchMessages polls the last byte of each message and then reads the whole message.
func watchMessages(path string) error {
	b, w, err := mapWords(path)
	if err != nil {
		return err
	}
	last := &w[(messageEnd-1)/8]
	for i := uint64(1); i <= rounds; i++ {
		await(func() uint64 {
			v := atomic.LoadUint64(last)
			return uint64((*[8]byte)(unsafe.Pointer(&v))[(messageEnd-1)%8])
		}, i%251, never)
		for at, got := range b[messageStart:messageEnd] {
			if uint64(got) != i%251 {
				return fmt.Errorf("message %d: byte %d is %d when the last one is there", i, at, got)
			}
		}
		atomic.StoreUint64(&w[0], i)
	}
	return nil
}

func TestOtherProcessSeesTheEndOfAMessageLast(t *testing.T) {
	path := fileOf(t, make([]byte, 4*4096))
	m := openFile(t, path, FileOptions{})
	beside(t, "watch", path, func(ended func() bool) {
		for i := uint64(1); i <= rounds; i++ {
			msg := bytes.Repeat([]byte{byte(i % 251)}, messageEnd-messageStart)
			if err := errors.Join(m.WriteAt(msg[:4096], messageStart),
				m.WriteFinalAt(msg[4096:], messageStart+4096)); err != nil {
				t.Error(err)
			}
			if !await(m.word(t, 0), i, ended) {
				break
			}
		}
	})
}

// lookAtWord reads word 2 until it has its final value, and checks that its halves are always
// equal.
func lookAtWord(path string) error {
	_, w, err := mapWords(path)
	if err != nil {
		return err
	}
	atomic.StoreUint64(&w[1], 1)
	for v := uint64(0); v>>32 != additions; {
		v = atomic.LoadUint64(&w[2])
		if v>>32 != v&0xffffffff {
			return fmt.Errorf("half a value: %#x", v)
		}
	}
	return nil
}

func TestOtherProcessSeesWordsInOnePiece(t *testing.T) {
	path := fileOf(t, make([]byte, 4*4096))
	m := openFile(t, path, FileOptions{})
	beside(t, "look", path, func(ended func() bool) {
		await(m.word(t, 8), 1, ended)
		for i := uint64(1); i <= additions; i++ {
			if err := m.StoreUint64At(16, i<<32|i); err != nil {
				t.Error(err)
			}
		}
	})
}

// fillDisk mounts a file system of 64 KiB at dir, visible only to this program, and uses more
// than that.
func fillDisk(dir string) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		return fmt.Errorf("mount: %w", err)
	}
	made := filepath.Join(dir, "made")
	if m, err := File(made, FileOptions{Create: true, Size: 1 << 20}); !errors.Is(err, unix.ENOSPC) {
		return fmt.Errorf("making what does not fit: %v, %v", m, err)
	}
	if _, err := os.Stat(made); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("what did not fit was left behind: %v", err)
	}
	holes := filepath.Join(dir, "holes")
	if err := errors.Join(os.WriteFile(holes, nil, 0o600), os.Truncate(holes, 1<<20)); err != nil {
		return err
	}
	m, err := File(holes, FileOptions{})
	if err != nil {
		return err
	}
	page := make([]byte, 4096)
	for off := uint64(0); off < 16*4096; off += 4096 {
		if err := m.WriteAt(page, off); err != nil {
			return fmt.Errorf("while there is room: %w", err)
		}
	}
	_, writes := operations(m, 1<<19, 4096)
	for name, f := range writes {
		if err := f(); !errors.Is(err, ErrLost) {
			return fmt.Errorf("%s on the full disk: %v", name, err)
		}
	}
	if want := "disk is full"; !bytes.Contains([]byte(m.Err().Error()), []byte(want)) {
		return fmt.Errorf("the error does not say %q: %w", want, m.Err())
	}
	if err := m.WriteAt(page, 0); err != nil {
		return fmt.Errorf("what has its place: %w", err)
	}
	return m.Close()
}

func TestFullDisk(t *testing.T) {
	var out bytes.Buffer
	c := localProgram("fill", t.TempDir())
	c.Stdout, c.Stderr = &out, &out
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	c.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := c.Start(); err != nil {
		t.Skipf("a small disk needs a user namespace, which this system does not give: %v", err)
	}
	if err := c.Wait(); err != nil {
		if bytes.HasPrefix(out.Bytes(), []byte("mount: ")) {
			t.Skipf("a small disk cannot be mounted in a user namespace here: %s", out.Bytes())
		}
		t.Errorf("%v\n%s", err, out.Bytes())
	}
}
