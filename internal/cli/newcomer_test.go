package cli

import (
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

func TestHelpIsThatOfTheCommand(t *testing.T) {
	for _, line := range []string{"", "perf", "perf write_bw", "trace", "help", "completion bash"} {
		want := newWorld().run(t.Context(), line+" --help")
		got := newWorld().run(t.Context(), "help "+line)
		mustSucceed(t, "help "+line, want, got)
		if got.out.String() != want.out.String() {
			t.Errorf("help %s: %v", line, got)
		}
	}
}

func TestShellsComplete(t *testing.T) {
	iface := "lo"
	if names, err := usableInterfaces(); err == nil {
		iface = names[0]
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"comp"}, "completion"}, {[]string{"help", "perf", "w"}, "write_bw"},
		{[]string{"perf", "write_bw", "-m", ""}, "4096"}, {[]string{"pingpong", "rc", "-m", ""}, "256"},
		{[]string{"perf", "read_lat", "--link", ""}, "xdp"}, {[]string{"loglevel", ""}, "warn"},
		{[]string{"daemon", "--log-level", ""}, "warn"}, {[]string{"devinfo", "-d", ""}, iface}, {[]string{"rping", "--ib-dev", ""}, iface},
		{[]string{"trace", "-i", ""}, iface}, {[]string{"daemon", "--device", ""}, iface},
	} {
		r := newWorld()
		out := r.startWords(t.Context(), append([]string{"__complete"}, c.words...))
		<-out.done
		found := false
		for line := range strings.Lines(out.out.String()) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found = found || name == c.want
		}
		if !found || out.code != 0 {
			t.Errorf("%q: no %q: %v", c.words, c.want, out)
		}
	}
}

// A script that waits for the line may start the client then.
func TestWaitingIsSaidWhenThePortIsOpen(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	w := newWorld()
	w.tcp = hostTCP{}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	r := w.run(t.Context(), "perf write_bw -d 127.66.0.1 -p "+port)
	if r.code != exitFailure || !strings.Contains(r.err.String(), "in use") || strings.Contains(r.out.String(), "Waiting") {
		t.Error(r)
	}
}

// The index of a GID counts the addresses of the interface that leads to the peer.
func TestAGIDIndexChoosesAmongTheInterfacesAddresses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for indexed, want := range map[bool]string{true: "eth7", false: "127.0.0.1"} {
		opened := ""
		a := &app{
			addrs: func(string) ([]netip.Addr, int, string, error) { return nil, 0, "eth7", nil },
			open: func(cfg verbs.Config) (*verbs.Device, error) {
				opened = cfg.Device
				return nil, errTest
			},
		}
		if _, err := a.openAt(&deviceFlags{}, conn, indexed); !errors.Is(err, errTest) || opened != want {
			t.Errorf("with an index %v: opened %q, %v", indexed, opened, err)
		}
	}
}

// A daemon has the port of the very interface that somebody looks at.
func TestDevinfoOpensNothing(t *testing.T) {
	names, err := usableInterfaces()
	if err != nil {
		t.Skip(err)
	}
	w := newWorld()
	r := &run{}
	a := &app{stdout: &r.out, stderr: &r.err, addrs: w.addrs, open: func(verbs.Config) (*verbs.Device, error) { return nil, errTest }}
	if r.code = a.main(t.Context(), []string{"devinfo"}); r.code != 0 || r.err.Len() > 0 {
		t.Fatal(r)
	}
	for _, name := range names {
		if !strings.Contains(r.out.String(), "hca_id:\t"+name+"\n") {
			t.Errorf("no device %s: %v", name, r)
		}
	}
	again := &run{}
	b := &app{stdout: &again.out, stderr: &again.err, addrs: w.addrs, open: a.open}
	if b.main(t.Context(), []string{"devinfo"}); again.out.String() != r.out.String() {
		t.Errorf("another look shows another device: %v", again)
	}
}
