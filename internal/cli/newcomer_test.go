package cli

import (
	"net"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/packet"
)

func TestHelpIsThatOfTheCommand(t *testing.T) {
	for _, line := range []string{"", "perf", "perf write_bw", "trace", "help", "completion bash"} {
		want := newWorld().Run(t.Context(), line+" --help")
		got := newWorld().Run(t.Context(), "help "+line)
		clitest.MustSucceed(t, "help "+line, want, got)
		if got.Stdout.String() != want.Stdout.String() {
			t.Errorf("help %s: %v", line, got)
		}
	}
}

func TestShellsComplete(t *testing.T) {
	iface := "lo"
	ifs, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range ifs {
		if _, _, _, err := packet.HostAddrs(i.Name); err == nil {
			iface = i.Name
			break
		}
	}
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"comp"}, "completion"}, {[]string{"help", "perf", "w"}, "write_bw"},
		{[]string{"perf", "write_bw", "-m", ""}, "4096"}, {[]string{"pingpong", "rc", "-m", ""}, "256"},
		{[]string{"perf", "read_lat", "--link", ""}, "xdp"}, {[]string{"loglevel", ""}, "warn"},
		{[]string{"daemon", "--log-level", ""}, "warn"}, {[]string{"devinfo", "-d", ""}, iface},
		{[]string{"rping", "--ib-dev", ""}, iface},
		{[]string{"trace", "-i", ""}, iface}, {[]string{"daemon", "--device", ""}, iface},
	} {
		r := newWorld()
		out := r.StartWords(t.Context(), append([]string{"__complete"}, c.words...))
		<-out.Done
		found := false
		for line := range strings.Lines(out.Stdout.String()) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			found = found || name == c.want
		}
		if !found || out.Code != 0 {
			t.Errorf("%q: no %q: %v", c.words, c.want, out)
		}
	}
}

// A script that waits for the line can then start the client.
func TestWaitingIsSaidWhenThePortIsOpen(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	w := newWorld()
	w.TCP = app.HostTCP{}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	r := w.Run(t.Context(), "perf write_bw -d 127.66.0.1 -p "+port)
	if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "in use") ||
		strings.Contains(r.Stdout.String(), "Waiting") {
		t.Error(r)
	}
}
