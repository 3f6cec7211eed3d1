package bench

import (
	"context"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listenerPort is the environment variable that makes the test binary listen on a port until it
// is killed.
const listenerPort = "BENCH_TEST_LISTEN"

func TestMain(m *testing.M) {
	if port := os.Getenv(listenerPort); port != "" {
		l, err := net.Listen("tcp", ":"+port)
		if err != nil {
			panic(err)
		}
		for err == nil {
			_, err = l.Accept()
		}
		return
	}
	os.Exit(m.Run())
}

func TestListensIn(t *testing.T) {
	const text = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1 0 100 0 0 10 0
   1: 0100007F:4E21 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 2 1 0 20 4 30 10 -1
   2: 00000000000000000000000000000000:4E22 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 3
`
	for port, want := range map[int]bool{20000: true, 20001: false, 20002: true, 20003: false, 40000: false} {
		if listensIn(text, port) != want {
			t.Errorf("port %d: %v", port, !want)
		}
	}
}

func needGround(t *testing.T) *ground {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("network namespaces take root")
	}
	g, err := newGround(nil, 1)
	if err != nil {
		t.Skipf("cannot make network namespaces: %v", err)
	}
	t.Cleanup(func() {
		if err := g.close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// The hosts are connected, and bound to the cores that they report.
func TestGround(t *testing.T) {
	g := needGround(t)
	l := make([]net.Listener, 1)
	err := g.hosts[0].in(func() (err error) {
		l[0], err = net.Listen("tcp", addresses[0]+":20000")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l[0].Close()
	for port, want := range map[int]bool{20000: true, 20001: false} {
		if got, err := g.hosts[0].listens(port); err != nil || got != want {
			t.Errorf("port %d: %v, %v", port, got, err)
		}
	}
	if got, err := g.hosts[1].listens(20000); err != nil || got {
		t.Errorf("the other host listens, too: %v, %v", got, err)
	}
	if err := g.hosts[1].in(func() error {
		c, err := net.DialTimeout("tcp", addresses[0]+":20000", 10*time.Second)
		if err == nil {
			err = c.Close()
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	for end := range g.hosts {
		checkCores(t, g.hosts[end], g.hosts[end].cores[:1])
		checkCores(t, g.inside[end], g.hosts[end].cores)
	}
	checkCores(t, g.shared, slices.Concat(g.hosts[0].cores, g.hosts[1].cores))
}

func checkCores(t *testing.T, h *host, want []int) {
	t.Helper()
	var set, all unix.CPUSet
	for _, c := range want {
		all.Set(c)
	}
	if err := h.in(func() error { return unix.SchedGetaffinity(0, &set) }); err != nil || set != all {
		t.Errorf("a host is bound to %d cores, want %v: %v", set.Count(), want, err)
	}
}

// Both ends on one host share its addresses and ports.
func TestOneHost(t *testing.T) {
	g := needGround(t)
	var l net.Listener
	err := g.inside[Server].in(func() (err error) {
		l, err = net.Listen("tcp", addresses[Server]+":20000")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for i, h := range []*host{g.inside[Server], g.inside[Client], g.shared, g.hosts[Server]} {
		if yes, err := h.listens(20000); err != nil || !yes {
			t.Errorf("host %d does not see the listener: %v", i, err)
		}
	}
	if yes, err := g.hosts[Client].listens(20000); err != nil || yes {
		t.Errorf("the host of the other end listens: %v", err)
	}
}

// matchOf returns a match of two scripts.
func matchOf(g *ground, server, client string, stays bool) *match {
	return &match{hosts: g.hosts, argv: [2][]string{{"sh", "-c", server}, {"sh", "-c", client}}, stays: stays,
		port: 20007, limit: time.Minute}
}

// However one end fails, the other one is ended, and the error contains the available output.
func TestMatchesEnd(t *testing.T) {
	g := needGround(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	serve := listenerPort + "=20007 exec " + self
	for _, tt := range []struct {
		name           string
		server, client string
		stays          bool
		out, want      string
	}{
		{"both do well", serve, "echo result", true, "result\n", ""},
		{"the client fails", serve, "echo some; echo worse >&2; exit 3", true, "", "client: exit status 3: worse"},
		{"the server fails", "echo bad luck >&2; exit 4", "echo result", true, "", "server: exit status 4: bad luck"},
		{"the server ends at once", "exit 0", "echo result", true, "", "ended before its client came"},
	} {
		m := matchOf(g, tt.server, tt.client, tt.stays)
		out, err := m.play(t.Context())
		if string(out) != tt.out || (err == nil) != (tt.want == "") || err != nil &&
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, out, err, tt.out, tt.want)
		}
		if listens, err := g.hosts[0].listens(20007); err != nil || listens {
			t.Errorf("%s: the server goes on: %v", tt.name, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	m := matchOf(g, serve, "kill -0 $$; sleep 1000", true)
	cancel()
	if _, err := m.play(ctx); err == nil {
		t.Error("an interrupted match has a result")
	}
}
