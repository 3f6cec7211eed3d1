package verbs_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/verbs"
)

// The program beside the region is this test binary, run again.
const (
	besideEnv  = "GORXE_TEST_BESIDE_REGION"
	messages   = 500
	messageLen = 20_001
	counterAt  = 8
	messageAt  = 4000
)

func init() {
	path := os.Getenv(besideEnv)
	if path == "" {
		return
	}
	go func() { // end with the test in any case
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := besideRegion(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// besideRegion polls the last byte of each message, checks all of it, adds to the counter and
// acknowledges in word 0.
func besideRegion(path string) error {
	b, err := mapExport(path)
	if err != nil {
		return err
	}
	word := func(off int) *uint64 { return (*uint64)(unsafe.Pointer(&b[off])) }
	const last = messageAt + messageLen - 1
	for i := uint64(1); i <= messages; i++ {
		for {
			v := atomic.LoadUint64(word(last &^ 7))
			if (*[8]byte)(unsafe.Pointer(&v))[last%8] == byte(i) {
				break
			}
			runtime.Gosched()
		}
		if n := bytes.Count(b[messageAt:last+1], []byte{byte(i)}); n != messageLen {
			return fmt.Errorf("message %d: %d bytes of %d are there when the last one is", i, n, messageLen)
		}
		atomic.StoreUint64(word(0), i)
		atomic.AddUint64(word(counterAt), 1)
	}
	return nil
}

func TestProgramBesideTheRegionTalksToAPeer(t *testing.T) {
	x := exportFile(t)
	var out bytes.Buffer
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), besideEnv+"="+x.path)
	c.Stdout, c.Stderr = &out, &out
	stdin, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stdin.Close() })
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	add := x.request(verbs.WRFetchAdd, counterAt, 8)
	add.CompareAdd = 1
	for i := uint64(1); i <= messages; i++ {
		copy(x.a.Buf, bytes.Repeat([]byte{byte(i)}, messageLen))
		x.must(x.request(verbs.WRWrite, messageAt, messageLen))
		x.must(add)
		for ack := uint64(0); ack != i; {
			x.must(x.request(verbs.WRRead, 0, 8))
			x.a.Fence()
			ack = binary.NativeEndian.Uint64(x.a.Buf)
			select {
			case err := <-ended:
				if ended <- err; err != nil {
					t.Fatalf("the local program: %v\n%s", err, out.Bytes())
				}
			default:
			}
		}
	}
	if err := <-ended; err != nil {
		t.Errorf("the local program: %v\n%s", err, out.Bytes())
	}
	if got := atomic.LoadUint64(x.word(counterAt)); got != 2*messages {
		t.Errorf("both together counted %d, want %d", got, 2*messages)
	}
}
