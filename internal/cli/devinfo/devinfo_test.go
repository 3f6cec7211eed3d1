package devinfo

import (
	"encoding/json"
	"errors"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/verbs"
)

func maskDevice(text string) string {
	text = regexp.MustCompile(`guid:(\t+)\S+`).ReplaceAllString(text, "guid:${1}…")
	return regexp.MustCompile(`fw_ver:(\t+).+`).ReplaceAllString(text, "fw_ver:${1}…")
}

func TestDevinfoLayout(t *testing.T) {
	for name, line := range map[string]string{"devinfo": "devinfo -d 127.66.0.1",
		"devinfo_v": "devinfo -v -d fd00:66::1"} {
		r := newWorld().Run(t.Context(), line)
		clitest.MustSucceed(t, line, r)
		golden.Check(t, name+".golden", maskDevice(r.Stdout.String()))
	}
}

func TestDevinfoJSON(t *testing.T) {
	r := newWorld().Run(t.Context(), "devinfo --json -d 127.66.0.1")
	clitest.MustSucceed(t, "devinfo --json", r)
	var got []struct {
		Name string `json:"hca_id"`
		GIDs []struct {
			GID string
			MTU int
		}
	}
	if err := json.Unmarshal(r.Stdout.Bytes(), &got); err != nil {
		t.Fatal(err, r)
	}
	if len(got) != 1 || got[0].Name != "127.66.0.1" || got[0].GIDs[0].GID != "::ffff:127.66.0.1" ||
		got[0].GIDs[0].MTU != 1024 {
		t.Errorf("got %+v", got)
	}
}

func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	for _, flag := range []string{"--spin=0s", "--shards=2", "--fault=drop=1%", "--fault-in=drop=1%"} {
		r := newWorld().Run(t.Context(), "devinfo -d 127.66.0.1 "+flag)
		if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), "has no effect on what devinfo prints") {
			t.Errorf("%s: %v", flag, r)
		}
	}
}

func TestDevinfoListsInterfaces(t *testing.T) {
	names, err := usableInterfaces()
	if err != nil {
		t.Skip(err)
	}
	r := newWorld().Run(t.Context(), "devinfo -l")
	clitest.MustSucceed(t, "devinfo -l", r)
	for _, n := range names {
		if !strings.Contains(r.Stdout.String(), "\t"+n+"\n") {
			t.Errorf("no %s: %v", n, r)
		}
	}
}

// The GID taken without -x is perftest's choice: IPv4 before global IPv6 before link-local.
func TestDefaultGID(t *testing.T) {
	for _, tt := range []struct {
		addrs string
		want  int
	}{
		{"fe80::1 192.0.2.1 2001:db8::1", 1}, {"fe80::1 2001:db8::1", 1}, {"fe80::1", 0}, {"192.0.2.2 192.0.2.1", 0},
	} {
		w := newWorld()
		var cfg verbs.Config
		for _, a := range strings.Fields(tt.addrs) {
			l, err := w.Net.Open(netip.MustParseAddr(a), 1500)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Links = append(cfg.Links, l)
		}
		dev, err := verbs.Open(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if g, err := app.PickGID(dev, -1, "-x"); err != nil || g.Index != tt.want {
			t.Errorf("of %s: index %d, %v; want %d", tt.addrs, g.Index, err, tt.want)
		}
		dev.Close()
	}
}

// A daemon may have the UDP port of the interface that is listed.
func TestDevinfoOpensNothing(t *testing.T) {
	names, err := usableInterfaces()
	if err != nil {
		t.Skip(err)
	}
	w := newWorld()
	r := &clitest.Run{}
	a := &app.App{Stdout: &r.Stdout, Stderr: &r.Stderr, Addrs: w.Addrs, Commands: []app.Command{Command},
		Open: func(verbs.Config) (*verbs.Device, error) { return nil, errors.New("test") }}
	if r.Code = a.Main(t.Context(), []string{"devinfo"}); r.Code != 0 || r.Stderr.Len() > 0 {
		t.Fatal(r)
	}
	for _, name := range names {
		if !strings.Contains(r.Stdout.String(), "hca_id:\t"+name+"\n") {
			t.Errorf("no device %s: %v", name, r)
		}
	}
	again := &clitest.Run{}
	b := &app.App{Stdout: &again.Stdout, Stderr: &again.Stderr, Addrs: w.Addrs, Commands: []app.Command{Command},
		Open: a.Open}
	if b.Main(t.Context(), []string{"devinfo"}); again.Stdout.String() != r.Stdout.String() {
		t.Errorf("another look shows another device: %v", again)
	}
}
