package guest

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// session connects a session to an agent that runs in the test.
func session(t *testing.T) *vm.Session {
	t.Helper()
	host, port := net.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- serve(port, wire.Info{Kernel: "6.1-test"}) }()
	s, err := vm.NewSession(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	if s.Info.Kernel != "6.1-test" {
		t.Errorf("greeting %+v", s.Info)
	}
	return s
}

func TestRunReturnsOutputAndStatus(t *testing.T) {
	s := session(t)
	out, err := s.Run(t.Context(), "sh", "-c", "echo out; echo err >&2")
	if out != "out\n" || err != nil {
		t.Errorf("%q, %v", out, err)
	}
	_, err = s.Run(t.Context(), "sh", "-c", "echo no >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3: no") {
		t.Errorf("error %v", err)
	}
	if _, err := s.Run(t.Context(), "/no/such/program"); err == nil {
		t.Error("a program that is not there: no error")
	}
}

func TestManyProcessesAtATime(t *testing.T) {
	s := session(t)
	// Opening the pipe blocks until both ends open it, so the commands must run concurrently.
	pipe := fifo(t, s)
	var read string
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		if read, err = s.Run(t.Context(), "cat", pipe); err != nil {
			t.Error(err)
		}
	})
	if _, err := s.Run(t.Context(), "sh", "-c", "echo through >"+pipe); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if read != "through\n" {
		t.Errorf("read %q", read)
	}
}

func TestTimeoutKillsTheWholeGroup(t *testing.T) {
	s := session(t)
	p, err := s.Start(wire.Command{Argv: []string{"sh", "-c", "sleep 1000 & wait"}, Timeout: time.Millisecond},
		io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	want := wire.Result{Code: -1, Signal: "killed", TimedOut: true}
	if d := cmp.Diff(want, p.Result()); d != "" {
		t.Error(d)
	}
}

func TestSignalReachesTheProcess(t *testing.T) {
	s := session(t)
	said := make(chan string, 1)
	p, err := s.Start(
		wire.Command{Argv: []string{"sh", "-c", `trap "exit 7" INT; echo trapped; read x < "$0"`, fifo(t, s)}},
		writer(func(b []byte) { said <- string(b) }), io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	<-said
	if err := p.Signal(vm.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
	if p.Result().Code != 7 {
		t.Errorf("%+v", p.Result())
	}
}

func TestReadyWhenThePortIsOpen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0") // in the command's network namespace, as for any socket
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := session(t)
	p, err := s.Start(wire.Command{Argv: []string{"sleep", "1000"}, ListenPort: l.Addr().(*net.TCPAddr).Port},
		io.Discard, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Ready()
	if err := p.Signal(vm.Kill); err != nil {
		t.Fatal(err)
	}
	<-p.Done()
}

type writer func([]byte)

func (w writer) Write(b []byte) (int, error) {
	w(b)
	return len(b), nil
}

// fifo makes a named pipe without a writer.
func fifo(t *testing.T, s *vm.Session) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "fifo")
	if _, err := s.Run(t.Context(), "mkfifo", file); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestFilesGoInAndOut(t *testing.T) {
	s := session(t)
	dir := t.TempDir()
	content := bytes.Repeat([]byte("0123456789abcdef"), 3*wire.MaxData/16+5)
	file := filepath.Join(dir, "sub", "file")
	if err := s.Put(t.Context(), file, 0o750, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(file)
	if err != nil || st.Size() != int64(len(content)) || st.Mode().Perm() != 0o750 {
		t.Errorf("%v, %v", st, err)
	}
	got, err := s.ReadFiles(t.Context(), filepath.Join(dir, "*", "f*"), filepath.Join(dir, "absent"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(map[string]string{file: string(content)}, got); d != "" {
		t.Error(d)
	}
	if err := s.Put(t.Context(), dir, 0o644, strings.NewReader("x")); err == nil {
		t.Error("a directory was written as a file")
	}
	if _, err := s.Run(t.Context(), "true"); err != nil {
		t.Errorf("after a refused file: %v", err)
	}
}

func TestUnknownNamespaceIsReported(t *testing.T) {
	s := session(t)
	_, err := s.RunIn(t.Context(), "no-such-namespace", "true")
	if err == nil || !strings.Contains(err.Error(), "no-such-namespace") {
		t.Errorf("error %v", err)
	}
}

func TestDatagram(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s := session(t)
	if err := s.Send(t.Context(), wire.Datagram{To: c.LocalAddr().String(), Data: []byte("mark")}); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 16)
	n, _, err := c.ReadFrom(buf)
	if err != nil || string(buf[:n]) != "mark" {
		t.Errorf("%q, %v", buf[:n], err)
	}
}

func TestLostConversationEndsEverything(t *testing.T) {
	host, port := net.Pipe()
	go func() {
		_ = wire.WriteJSON(port, 0, wire.Hello, wire.Info{})
		_, _ = wire.ReadFrame(port) // the command; no answer
		port.Close()
	}()
	s, err := vm.NewSession(host)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), "true"); err == nil {
		t.Error("no error from the command that was running")
	}
	if _, err := s.Run(context.Background(), "true"); err == nil {
		t.Error("no error from a command afterwards")
	}
}

func TestListens(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:4E21 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1
   1: 0100007F:4E22 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 2
`
	file := filepath.Join(t.TempDir(), "tcp")
	if err := os.WriteFile(file, []byte(table), 0o644); err != nil {
		t.Fatal(err)
	}
	for port, want := range map[int]bool{20001: true, 20002: false, 20003: false} {
		if got := listens(file, port); got != want {
			t.Errorf("port %d: %v", port, got)
		}
	}
	if listens(file+"-absent", 20001) {
		t.Error("a table that is not there lists a port")
	}
}
