package verbspeer

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// pair is two devices in memory.
func pair(t *testing.T, op string) (server, client *Config) {
	t.Helper()
	network := pipe.NewNet()
	open := func(addr string) *Config {
		l, err := network.Open(netip.MustParseAddr(addr), 9000)
		if err != nil {
			t.Fatal(err)
		}
		d, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		g, err := d.GID(0)
		if err != nil {
			t.Fatal(err)
		}
		return &Config{Device: d, GID: g, MTU: 1024, Op: op, Size: 5000, Rounds: 3}
	}
	return open("192.0.2.1"), open("192.0.2.2")
}

func mustOperations(t *testing.T) map[string]*operation {
	t.Helper()
	all, err := operations()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func converse(t *testing.T, server, client *Config) (rounds int, serr, cerr error) {
	t.Helper()
	a, b := net.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		rounds, serr = server.Serve(t.Context(), a)
		a.Close()
	}()
	cerr = client.Run(t.Context(), b)
	b.Close()
	<-done
	return rounds, serr, cerr
}

func TestEveryOperationBetweenTwoGorxe(t *testing.T) {
	for name, op := range mustOperations(t) {
		for _, refused := range []bool{false, true} {
			if refused && op.Refused == nil {
				continue
			}
			server, client := pair(t, name)
			client.Refused = refused
			switch {
			case name == "atomic_write":
				server.Size, client.Size = 8, 8
			case op.Type == "UD":
				server.Size, client.Size = 1024, 1024
			}
			if rounds, serr, cerr := converse(t, server, client); serr != nil || cerr != nil || rounds != 3 {
				t.Errorf("%s, refused %v: %d rounds, server: %v, client: %v", name, refused, rounds, serr, cerr)
			}
		}
	}
}

func TestWhatIsNotAsItShouldBeIsSaidAtBothEnds(t *testing.T) {
	server, client := pair(t, "window2")
	client.Size = 6000 // more than the server's window covers
	_, _, cerr := converse(t, server, client)
	if want := "window2, round 0: write: status remote access error, want success"; cerr == nil ||
		cerr.Error() != want {
		t.Errorf("client: %v, want %q", cerr, want)
	}

	server, client = pair(t, "flush")
	client.Size = 4000 // the server checks 5000 bytes
	_, serr, cerr := converse(t, server, client)
	for _, err := range []error{serr, cerr} {
		if err == nil || !strings.Contains(err.Error(), "the memory does not hold what was written") {
			t.Errorf("got %v", err)
		}
	}
}

func TestARefusalThatAnOperationDoesNotHaveIsNotAskedFor(t *testing.T) {
	server, client := pair(t, "uc_send_imm")
	client.Refused = true
	if _, _, cerr := converse(t, server, client); cerr == nil || !strings.Contains(cerr.Error(), "refuses nothing") {
		t.Errorf("got %v", cerr)
	}
}

func TestUnknownNamesAreRefused(t *testing.T) {
	server, client := pair(t, "teleport")
	if _, serr, cerr := converse(t, server, client); serr == nil || cerr == nil ||
		!strings.Contains(cerr.Error(), "[atomic_write flush ") {
		t.Errorf("operation: %v, %v", serr, cerr)
	}
	e := &end{Config: &Config{Size: 1}, buf: make([]byte, 1)}
	if _, err := e.request(context.Background(), "jump", 0); err == nil {
		t.Error("a client's step that does not exist is performed")
	}
	if err := e.answer(context.Background(), "jump", 0); err == nil {
		t.Error("a server's step that does not exist is performed")
	}
}

func TestEveryOperationOfTheTableCanBeRead(t *testing.T) {
	for name, op := range mustOperations(t) {
		if op.Key == "" || len(op.Steps) == 0 || op.Refused != nil && op.Refused.ask {
			t.Errorf("%s: %+v", name, op)
		}
		if op.Type != "" && op.service().String() != op.Type {
			t.Errorf("%s: queue pairs of type %q are of type %v", name, op.Type, op.service())
		}
	}
	for _, bad := range []string{`[]`, `["a", 1, 2]`, `["a", "b"]`, `[1]`, `{}`} {
		if err := new(step).UnmarshalJSON([]byte(bad)); err == nil {
			t.Errorf("step %s is taken", bad)
		}
	}
}

// Any line from the peer is either a message or an error; none makes the program panic.
func FuzzServerTakesAnything(f *testing.F) {
	f.Add([]byte(`{"qpn":17,"psn":5,"gid":"0000:0000:0000:0000:0000:ffff:c000:0202","addr":4096,"rkey":7}` + "\n" +
		`{"step":"check","fill":0}` + "\n"))
	f.Add([]byte(`{"gid":"x"}` + "\n"))
	f.Add([]byte("\n"))
	network := pipe.NewNet()
	l, err := network.Open(netip.MustParseAddr("192.0.2.1"), 1500)
	if err != nil {
		f.Fatal(err)
	}
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{l}})
	if err != nil {
		f.Fatal(err)
	}
	defer d.Close()
	g, err := d.GID(0)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		a, peer := net.Pipe()
		go func() {
			peer.Write(b)
			peer.Close()
		}()
		c := &Config{Device: d, GID: g, MTU: 1024, Op: "atomic_write", Size: 8}
		c.Serve(t.Context(), a)
		a.Close()
	})
}
