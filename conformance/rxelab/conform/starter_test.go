package conform

import (
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// machineWith returns a session with a fake machine that answers each Start as f says.
func machineWith(t *testing.T, f func(w io.Writer, stream uint32, c wire.Command)) (s *vm.Session,
	signals chan byte) {
	host, port := net.Pipe()
	signals = make(chan byte, 10)
	go func() {
		_ = wire.WriteJSON(port, 0, wire.Hello, wire.Info{})
		for {
			x, err := wire.ReadFrame(port)
			if err != nil {
				return
			}
			switch x.Kind {
			case wire.Start:
				var c wire.Command
				if err := json.Unmarshal(x.Data, &c); err == nil {
					f(port, x.Stream, c)
				}
			case wire.Signal:
				signals <- x.Data[0]
				_ = wire.WriteJSON(port, x.Stream, wire.Exit, wire.Result{Code: -1, Signal: "terminated"})
			}
		}
	}()
	s, err := vm.NewSession(host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s, signals
}

func TestTheStarterHasTheExitStatusOfTheProgram(t *testing.T) {
	for program, want := range map[string]int{"succeeds": 0, "fails": 3, "absent": notFound, "killed": 1} {
		s, _ := machineWith(t, func(w io.Writer, stream uint32, c wire.Command) {
			text := []byte(strings.Join(c.Argv, " ") + "\n")
			_ = wire.Write(w, wire.Frame{Stream: stream, Kind: wire.Stdout, Data: text})
			_ = wire.WriteJSON(w, stream, wire.Exit, map[string]wire.Result{
				"succeeds": {}, "fails": {Code: 3}, "absent": {Code: -1, Err: "not found"},
				"killed": {Code: -1, Signal: "killed"},
			}[c.Argv[0]])
		})
		socket := filepath.Join(t.TempDir(), "start")
		r, err := newStarter(s, socket)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := runStarter(socket, []string{program, "-p", "1"}); got != want {
			t.Errorf("%s: exit status %d (%v), want %d", program, got, err, want)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAProgramEndsWithItsConnection(t *testing.T) {
	s, signals := machineWith(t, func(io.Writer, uint32, wire.Command) {})
	socket := filepath.Join(t.TempDir(), "start")
	r, err := newStarter(s, socket)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.WriteJSON(conn, 0, wire.Start, wire.Command{Argv: []string{"runs"}}); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if n := <-signals; n != vm.Terminate {
		t.Errorf("signal %d, want %d", n, vm.Terminate)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}
