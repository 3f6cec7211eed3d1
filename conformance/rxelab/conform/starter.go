package conform

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// First arguments of rxelab that make it a helper process of a run.
const (
	TesterCommand  = "conform-tester"
	StarterCommand = "conform-start"
)

// notFound is the exit status of a program that does not exist, as a shell has it.
const notFound = 127

// starter starts programs in a machine for the processes that the tester starts: for each, there
// is a connection to its socket with the frames of package wire.
type starter struct {
	session *vm.Session
	python  *vm.Programs // in which Python programs run; nil: those of the machine
	l       net.Listener
	all     sync.WaitGroup
}

// newStarter makes a starter with a socket.
func newStarter(s *vm.Session, socket string) (*starter, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	r := &starter{session: s, l: l}
	r.all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			r.all.Go(func() { r.serve(conn) })
		}
	})
	return r, nil
}

// close ends the starter after its programs have ended.
func (r *starter) close() error {
	err := r.l.Close()
	r.all.Wait()
	return err
}

// frames writes output as frames.
type frames struct {
	mu   *sync.Mutex
	w    io.Writer
	kind wire.Kind
}

func (f frames) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for rest := b; len(rest) > 0; {
		n := min(len(rest), wire.MaxData)
		if err := wire.Write(f.w, wire.Frame{Kind: f.kind, Data: rest[:n]}); err != nil {
			return 0, err
		}
		rest = rest[n:]
	}
	return len(b), nil
}

// endTime is the time that a program has to end after SIGTERM.
const endTime = 500 * time.Millisecond

// serve runs the program of a connection, and ends it when the connection ends.
func (r *starter) serve(conn net.Conn) {
	defer conn.Close()
	var c wire.Command
	f, err := wire.ReadFrame(conn)
	if err == nil {
		err = json.Unmarshal(f.Data, &c)
	}
	if err != nil {
		return
	}
	if r.python != nil && len(c.Argv) > 0 && c.Argv[0] == device.Python {
		c.Argv = r.python.Command(c.Argv)
	}
	var mu sync.Mutex
	p, err := r.session.Start(c, frames{&mu, conn, wire.Stdout}, frames{&mu, conn, wire.Stderr})
	if err != nil {
		_ = wire.WriteJSON(conn, 0, wire.Exit, wire.Result{Code: -1, Err: err.Error()})
		return
	}
	gone := make(chan struct{})
	r.all.Go(func() {
		defer close(gone)
		// The other end sends nothing more.
		_, _ = io.Copy(io.Discard, conn)
	})
	select {
	case <-p.Done():
		mu.Lock()
		_ = wire.WriteJSON(conn, 0, wire.Exit, p.Result())
		mu.Unlock()
		return
	case <-gone:
	}
	_ = p.Signal(vm.Terminate)
	select {
	case <-p.Done():
	case <-time.After(endTime):
		_ = p.Signal(vm.Kill)
	}
}

// RunStarter runs a program in the machine through the starter at the socket and returns its exit
// status. The program ends with this process.
func RunStarter(socket string, argv []string) int {
	status, err := runStarter(socket, argv)
	if err != nil {
		fmt.Fprintln(os.Stderr, "rxelab:", err)
	}
	return status
}

func runStarter(socket string, argv []string) (status int, err error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return 1, err
	}
	defer conn.Close()
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ended
		conn.Close()
	}()
	if err := wire.WriteJSON(conn, 0, wire.Start, wire.Command{Argv: argv}); err != nil {
		return 1, err
	}
	for {
		f, err := wire.ReadFrame(conn)
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				err = nil
			}
			return 1, err
		}
		switch f.Kind {
		case wire.Stdout:
			_, _ = os.Stdout.Write(f.Data) // without a reader, the tester has ended
		case wire.Stderr:
			_, _ = os.Stderr.Write(f.Data)
		case wire.Exit:
			return exitOf(f.Data)
		}
	}
}

// exitOf returns the exit status that a frame Exit says.
func exitOf(data []byte) (int, error) {
	var r wire.Result
	switch err := json.Unmarshal(data, &r); {
	case err != nil:
		return 1, err
	case r.Err != "":
		return notFound, errors.New(r.Err)
	case r.Code < 0:
		return 1, errors.New(vm.Describe(r))
	}
	return r.Code, nil
}
