package device_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/internal/serve/exchange"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// fakeVariable is the environment variable that makes the test a program of the device.
const fakeVariable = "GORXE_TEST_PROGRAM"

// aloneVariable is the environment variable with a TCP port that the program needs for itself.
const aloneVariable = "GORXE_TEST_PORT"

func TestMain(m *testing.M) {
	if kind := os.Getenv(fakeVariable); kind != "" {
		program(kind, os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

var loopback = netip.MustParseAddr("127.0.0.1")

// key is the key of the fake program.
var key = perftest.Key{OutReads: 4, QPN: 0x123, PSN: 0x456, RKey: 0x789, VAddr: 0xabc000,
	GID: netip.AddrFrom16(loopback.As16()).As16()}

// program is a fake program of a device.
func program(kind string, args []string) {
	port := args[slices.Index(args, "-p")+1]
	client := args[len(args)-1] == loopback.String() // a client's last argument is the tester
	var conn net.Conn
	var err error
	if port := os.Getenv(aloneVariable); port != "" {
		if _, err := net.Listen("tcp", net.JoinHostPort(loopback.String(), port)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	switch {
	case kind == "ends":
		fmt.Println("no RDMA device")
		os.Exit(3)
	case kind == "noisy":
		for range 4 << 10 {
			os.Stdout.Write(bytes.Repeat([]byte("\x1b]0;x\a\xff<"), 128)) // no end of line
		}
		fmt.Print("no RDMA device")
		os.Exit(3)
	case kind == "absent":
		time.Sleep(time.Minute)
	case client:
		conn, err = net.Dial("tcp", net.JoinHostPort(loopback.String(), port))
	default:
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(loopback.String(), port)); err == nil {
			conn, err = l.Accept()
		}
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	switch kind {
	case "silent":
		io.Copy(io.Discard, conn)
	case "HTTP":
		io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")
		io.Copy(io.Discard, conn)
	case "dies":
		conn.Read(make([]byte, 16))
		io.WriteString(conn, "6.06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
		conn.Read(make([]byte, 4))
		fmt.Println("out of memory")
		os.Exit(1)
	case "killed":
		if !client {
			conn.Read(make([]byte, 64))
		}
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			self.Kill()
		}
		time.Sleep(time.Minute)
	case "right":
		role := exchange.Server
		if client {
			role = exchange.Client
		}
		steps := append(perftest.Opening(), perftest.Script(perftest.WriteBW,
			perftest.Params{Role: exchange.Client, QPs: 1, Sizes: []uint64{4096}})...)
		if err := perftest.Drive(conn, role, steps, end{}); err != nil {
			fmt.Println(err)
		}
		time.Sleep(time.Minute)
	}
}

// end is the end of the fake program.
type end struct{}

func (end) Sizes() (uint32, uint32)               { return 4096, 64 }
func (end) PeerSizes(uint32, uint32) error        { return nil }
func (end) MTU() uint8                            { return 3 }
func (end) PeerMTU(uint8) error                   { return nil }
func (end) Key(int) perftest.Key                  { return key }
func (end) PeerKey(int, perftest.Key, bool) error { return nil }
func (end) Report() perftest.Report               { return perftest.Report{} }
func (end) PeerReport(perftest.Report) error      { return nil }
func (end) Act(s perftest.Step) error {
	if s.Kind == perftest.Run {
		fmt.Println("traffic")
		time.Sleep(time.Minute)
	}
	return nil
}

// stock returns a device whose programs are fakes of a kind.
func stock(t *testing.T, kind string) *device.Stock {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &device.Stock{Host: loopback, Addr: loopback, GIDIndex: -1, StartTime: 300 * time.Millisecond,
		Start: fmt.Sprintf("env %s=%s %s", fakeVariable, kind, os.Args[0]),
		Port:  uint16(l.Addr().(*net.TCPAddr).Port)}
	switch kind {
	case "absent":
	case "silent", "dies":
		s.StartTime = 3 * time.Second
	default: // connects or ends
		s.StartTime = 20 * time.Second
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var local = conformance.Local{Addr: loopback, QPN: 0x900, PSN: 7, RKey: 8, VA: 4096, Reads: 16, AckTimeout: 14}

// programs are a server, a client and a program with another handshake.
var programs = []conformance.Program{conformance.WriteServer, conformance.WriteClient, conformance.Pingpong}

func TestAProgramThatIsNoPeerIsAClearErrorWithinTheStartTime(t *testing.T) {
	for kind, want := range map[string][]string{
		"ends":   {"ended before it", "no RDMA device"},
		"noisy":  {"no RDMA device"},
		"absent": {"does not accept a connection", "no program connected"},
		"silent": {"the handshake failed", "timeout"},
		"HTTP":   {"the handshake failed", "HTTP"},
		"dies":   {"the handshake failed", "out of memory"},
		"killed": {"the program ended: "},
	} {
		for _, p := range programs {
			t.Run(kind+" "+p.String(), func(t *testing.T) {
				t.Parallel()
				peer, err := stock(t, kind).Open(t.Context(), p, local)
				if err == nil {
					peer.Close()
					t.Fatal("it is taken for a program")
				}
				if len(err.Error()) > 2000 || strings.ContainsAny(err.Error(), "\x1b\a") {
					t.Errorf("an error of %d bytes: %.500q", len(err.Error()), err)
				}
				if !slices.ContainsFunc(want, func(s string) bool { return strings.Contains(err.Error(), s) }) {
					t.Errorf("the error is %q, want one with one of %q", err, want)
				}
			})
		}
	}
}

// If only RoCEv2 packets use IPv6, clients connect over IPv4, as perftest can only do that.
func TestAClientConnectsToTheHostsFamilyOfAddresses(t *testing.T) {
	s := stock(t, "right")
	s.Addr = netip.MustParseAddr("2001:db8::7")
	v6 := local
	v6.Addr = netip.MustParseAddr("2001:db8::1")
	_, err := s.Open(t.Context(), conformance.WriteClient, v6)
	if want := "the program has GID 127.0.0.1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want) // so the fake client, which connects to 127.0.0.1, has connected
	}
}

// The tester needs the GID of the address to which it sends.
func TestAProgramWithAnotherGIDIsAClearError(t *testing.T) {
	for _, p := range programs[:2] {
		s := stock(t, "right")
		s.Addr = netip.MustParseAddr("127.0.0.9")
		_, err := s.Open(t.Context(), p, local)
		if want := "the program has GID 127.0.0.1, not that of 127.0.0.9: --dut-gid must be"; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", p, err, want)
		}
	}
}

// The start command may be any shell command.
func TestTheStartCommandIsAShellCommand(t *testing.T) {
	program := fakeVariable + "=ends " + os.Args[0]
	for _, start := range []string{program, "cd / && " + program, "if true; then " + program + " {}; fi"} {
		s := stock(t, "right")
		s.Start = start
		if _, err := s.Open(t.Context(), conformance.WriteServer, local); err == nil ||
			!strings.Contains(err.Error(), "exit status 3; the program printed \"no RDMA device\"") {
			t.Errorf("%s: %v", start, err)
		}
	}
}

// A program that asks a person something, such as ssh for a password, finds no terminal.
func TestAProgramHasNoTerminal(t *testing.T) {
	s := stock(t, "right")
	s.Start = "echo no terminal: $({ true </dev/tty; } 2>&1); exit 1; :"
	_, err := s.Open(t.Context(), conformance.WriteServer, local)
	if err == nil || !strings.Contains(err.Error(), "/dev/tty") {
		t.Errorf("the error is %v", err)
	}
}

// The error says what the command printed last: it may be a question, or a warning of ssh.
func TestAProgramThatDoesNotListenIsNamedWithItsOutput(t *testing.T) {
	const banner = `echo "Link type: Ethernet"; echo ---; echo Shared connection to x closed.`
	for start, want := range map[string]string{
		"sh -c 'echo warming up; exec sleep 60'": `connection refused; its last output is "warming up"`,
		"sh -c '" + banner + "; exec sleep 60'":  `its last output is "Link type: Ethernet"`,
		"sh -c 'yes | tr -d \"\\n\"'":            `"…` + strings.Repeat("y", 200) + `"`,
		"sleep 60; :":                            "connection refused; its command runs and has printed nothing",
	} {
		t.Run(start, func(t *testing.T) {
			t.Parallel()
			s := stock(t, "right")
			s.Start, s.StartTime = start, 2*time.Second
			_, err := s.Open(t.Context(), conformance.WriteServer, local)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %s", err, want)
			}
		})
	}
}

func TestAProgramThatDoesNotExistIsUnsupported(t *testing.T) {
	for _, p := range programs {
		s := stock(t, "right")
		s.Start = "/nonexistent/ssh"
		if _, err := s.Open(t.Context(), p, local); !errors.Is(err, conformance.ErrUnsupported) {
			t.Errorf("%v: %v, want that it is unsupported", p, err)
		}
	}
	_, err := stock(t, "right").Open(t.Context(), conformance.Programs, local)
	if !errors.Is(err, conformance.ErrUnsupported) {
		t.Errorf("an unknown program: %v, want that it is unsupported", err)
	}
}

func TestCheckTellsAStartCommandThatDoesNotExist(t *testing.T) {
	for start, ok := range map[string]bool{
		"": true, "env": true, "false": true, "exit 1;": true, "env sh -c 'exit 3' {}": true,
		"/nonexistent/ssh": false, "sh -c 'exit 127' {}": false,
	} {
		if err := (&device.Stock{Start: start}).Check(); (err == nil) != ok {
			t.Errorf("%q: %v", start, err)
		}
	}
}

func TestThePeerTellsItsQueuePairAndRegion(t *testing.T) {
	for _, p := range []conformance.Program{conformance.WriteServer, conformance.WriteClient} {
		t.Run(p.String(), func(t *testing.T) {
			t.Parallel()
			peer, err := stock(t, "right").Open(t.Context(), p, local)
			if err != nil {
				t.Fatal(err)
			}
			defer peer.Close()
			got := peer.Target()
			if uint32(got.QPN) != key.QPN || uint32(got.PSN) != key.PSN || got.RKey != key.RKey || got.VA != key.VAddr {
				t.Errorf("the target is %+v, the program said %+v", got, key)
			}
			client := p == conformance.WriteClient
			if client && strings.Contains(peer.Output(), "traffic") {
				t.Error("the traffic begins before Go")
			}
			if err := peer.Go(); err != nil {
				t.Error(err)
			}
			for client && !strings.Contains(peer.Output(), "traffic") {
				if t.Context().Err() != nil {
					t.Fatal("the traffic does not begin after Go")
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
}

func TestAProgramThatListensWithRdmaCMTellsItsPort(t *testing.T) {
	for _, p := range []conformance.Program{conformance.RPing, conformance.CMServer} {
		s := stock(t, "absent")
		peer, err := s.Open(t.Context(), p, local)
		if err != nil {
			t.Fatal(err)
		}
		if got := peer.Target(); got.Addr != loopback || got.Port != s.Port {
			t.Errorf("%v: the target is %+v, want port %d", p, got, s.Port)
		}
		if e, ok := peer.(interface{ Ended() error }); !ok || e.Ended() != nil {
			t.Errorf("%v has ended", p)
		}
		peer.Close()
		if e, ok := peer.(interface{ Ended() error }); !ok || e.Ended() == nil {
			t.Errorf("%v has not ended after Close", p)
		}
	}
}

// The command is one of a shell, not only the name of a program.
func TestACommandOfSeveralCommandsStartsPrograms(t *testing.T) {
	for _, format := range []string{"cd / && %s", "X=1 %s", "for i in 1; do %s {}; done; :",
		"if true; then exec %s {}; fi"} {
		s := stock(t, "right")
		s.Start = fmt.Sprintf(format, s.Start)
		peer, err := s.Open(t.Context(), conformance.WriteServer, local)
		if err != nil {
			t.Errorf("%s: %v", s.Start, err)
			continue
		}
		peer.Close()
		if conn, err := net.Dial("tcp", net.JoinHostPort(loopback.String(), fmt.Sprint(s.Port))); err == nil {
			conn.Close()
			t.Errorf("%s: the program listens after its end", s.Start)
		}
	}
}

// A program that was started ahead is used once, and others end.
func TestPreparedProgramsAreUsedOrEnd(t *testing.T) {
	s := stock(t, "right")
	s.Prepare([]conformance.Program{conformance.WriteServer, conformance.ReadServer, conformance.WriteServer,
		conformance.WriteClient})
	peer, err := s.Open(t.Context(), conformance.WriteServer, local)
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	s.Prepare(nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if uint32(peer.Target().QPN) != key.QPN {
		t.Errorf("the target is %+v", peer.Target())
	}
}

// Programs are started ahead of their cases. A device that permits only one at a time is noticed.
func TestADeviceMayPermitOnlyOneProgramAtATime(t *testing.T) {
	s := stock(t, "right")
	s.Start = fmt.Sprintf("env %s=%d %s", aloneVariable, s.Port+device.Ports, s.Start)
	for range 6 {
		s.Prepare([]conformance.Program{conformance.WriteServer, conformance.ReadServer, conformance.SendServer})
		for _, p := range []conformance.Program{conformance.WriteServer, conformance.ReadServer} {
			peer, err := s.Open(t.Context(), p, local)
			if err != nil {
				t.Fatalf("%v: %v", p, err)
			}
			peer.Close()
		}
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	s := stock(t, "absent")
	s.StartTime = time.Hour
	for _, p := range programs {
		cause := errors.New("the case is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, cause)
		defer cancel()
		if _, err := s.Open(ctx, p, local); !errors.Is(err, cause) {
			t.Errorf("%v: %v, want the cause of the end", p, err)
		}
	}
}

func TestWithoutACommandTheUserIsAsked(t *testing.T) {
	var asked []string
	s := &device.Stock{Host: loopback, Addr: loopback, GIDIndex: 3, Name: "rxe0", Port: 1,
		Ask: func(command string) { asked = append(asked, command) }}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer cancel()
	s.Prepare(programs) // starts nothing
	s.Open(ctx, conformance.WriteServer, local)
	s.Open(ctx, conformance.ReadServer, local) // at another port: the loop of the first one may run
	if len(asked) != 2 || asked[0] != "ib_write_bw -s 65536 -p 2 -m 1024 -n 1000000 -F -d rxe0 -x 3" ||
		asked[1] != "ib_read_bw -s 65536 -p 3 -m 1024 -n 1000000 -F -d rxe0 -x 3" {
		t.Errorf("the user is asked for %q", asked)
	}
}
