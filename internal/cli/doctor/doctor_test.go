package doctor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/internal/trap"
)

// files returns the file system of a host with empty files of these names.
func files(names ...string) fstest.MapFS {
	root := fstest.MapFS{}
	for _, n := range names {
		root[n] = &fstest.MapFile{}
	}
	return root
}

const (
	debianLibrary  = "usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0"
	debianProvider = "usr/lib/x86_64-linux-gnu/libibverbs/librxe-rdmav34.so"
	driver         = "etc/libibverbs.d/rxe.driver"
)

func TestMissingAndOldPartsOfRDMACoreAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		root     fstest.MapFS
		library  Finding
		provider Finding
	}{
		"Debian 12": {
			files(debianLibrary, debianProvider, driver),
			Finding{"libibverbs", OK, "rdma-core 44 (/" + debianLibrary + ")", ""},
			Finding{"rxe provider", OK, "/" + debianProvider, ""},
		},
		"Fedora": {
			files("usr/lib64/libibverbs.so.1.14.51.0", "usr/lib64/libibverbs/librxe-rdmav34.so", driver),
			Finding{"libibverbs", OK, "rdma-core 51 (/usr/lib64/libibverbs.so.1.14.51.0)", ""},
			Finding{"rxe provider", OK, "/usr/lib64/libibverbs/librxe-rdmav34.so", ""},
		},
		"an old release, whose provider is not configured": {
			files("usr/lib/libibverbs.so.1.11.32.0", "usr/lib/libibverbs/librxe-rdmav25.so"),
			Finding{
				"libibverbs", Warn, "rdma-core 32 (/usr/lib/libibverbs.so.1.11.32.0)",
				"'gorxe run' is tested with rdma-core 44 and later",
			},
			Finding{
				"rxe provider", Warn,
				"/usr/lib/libibverbs/librxe-rdmav25.so is not in use: there is no /etc/libibverbs.d/rxe.driver",
				forPrograms + "apt install ibverbs-providers, or dnf install libibverbs",
			},
		},
		"nothing": {
			files(),
			Finding{
				"libibverbs", Warn, "is not installed",
				forPrograms + "apt install libibverbs1, or dnf install libibverbs",
			},
			Finding{
				"rxe provider", Warn, "is not installed",
				forPrograms + "apt install ibverbs-providers, or dnf install libibverbs",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.library, library(c.root)); d != "" {
				t.Errorf("library: %s", d)
			}
			if d := cmp.Diff(c.provider, provider(c.root)); d != "" {
				t.Errorf("provider: %s", d)
			}
		})
	}
}

func TestWhatKeepsProgramsFromBeingServedIsNamedWithTheRemedy(t *testing.T) {
	for _, c := range []struct {
		nested bool
		err    error
		state  State
		advice string
	}{
		{false, nil, OK, ""},
		{true, errors.New("not asked"), OK, ""},
		{false, trap.ErrOldKernel, Fail, "Linux 5.19"},
		{false, trap.ErrDenied, Fail, "profile"},
		{false, fmt.Errorf("%w (ptrace_scope is 3)", trap.ErrForeignMemory), Fail, "ptrace_scope is 3"},
		{false, trap.ErrUnsupported, Fail, "Linux"},
	} {
		f := listener(c.nested, func() error { return c.err })
		if f.State != c.state || !strings.Contains(f.Advice, c.advice) || strings.HasPrefix(f.Text, "trap:") {
			t.Errorf("%v is reported as %+v", c.err, f)
		}
	}
}

func TestASocketOnThePortIsFound(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("/proc/net/udp is a file of Linux")
	}
	for _, at := range []string{"127.66.9.1", "::1"} {
		l, err := net.ListenPacket("udp", net.JoinHostPort(at, "4791"))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addr := netip.MustParseAddr(at)
		taken := portUsers(os.DirFS("/"))
		if f := port("x", []netip.Addr{addr}, taken, false); f.State != Warn || !strings.Contains(f.Text, at) {
			t.Errorf("a socket at %v is reported as %+v; there are %v", at, f, taken)
		}
		if f := port("x", []netip.Addr{addr}, taken, true); f.State != OK || !strings.Contains(f.Text, "daemon") {
			t.Errorf("that of a daemon at %v is reported as %+v", at, f)
		}
	}
}

func TestASocketOfAllAddressesTakesThePortOfEach(t *testing.T) {
	four, six := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")
	for _, c := range []struct {
		taken string
		want  [2]bool
	}{
		{"192.0.2.1", [2]bool{true, false}}, {"192.0.2.2", [2]bool{}}, {"0.0.0.0", [2]bool{true, false}},
		{"::", [2]bool{true, true}}, {"2001:db8::1", [2]bool{false, true}},
	} {
		taken := netip.MustParseAddr(c.taken)
		if got := [2]bool{conflict(taken, four), conflict(taken, six)}; got != c.want {
			t.Errorf("%v: %v, want %v", taken, got, c.want)
		}
	}
}

func TestLinesOfSocketsThatAreNoneArePassedOver(t *testing.T) {
	for _, line := range []string{
		"", "  sl  local_address rem_address   st", "1: 0100007F", "1: 0100007F:12B", "1: 0100007F:FFFFF",
		"1: 01007F:12B7",
		"1: xyz:12B7",
	} {
		if a, ok := socketAddr(line); ok && a.Port() == 4791 {
			t.Errorf("%q is %v", line, a)
		}
	}
}

func TestAnInterfaceWhoseMTUIsTooSmallCarriesNoDevice(t *testing.T) {
	addrs := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	if f := carrier("x", addrs, 200); f.State != Fail || f.Advice == "" {
		t.Errorf("%+v", f)
	}
	want := Finding{"x", OK, "MTU 1500, so path MTU 1024; GIDs 0=192.0.2.1", ""}
	if d := cmp.Diff(want, carrier("x", addrs, 1500)); d != "" {
		t.Error(d)
	}
}

func TestAdviceIsInTheLineBelow(t *testing.T) {
	var out bytes.Buffer
	printFindings(&out, app.Style{}, []Finding{{"one", OK, "is there", ""}, {"another", Fail, "is not", "get it"}})
	const want = "ok    one      is there\nfail  another  is not\n               -> get it\n"
	if d := cmp.Diff(want, out.String()); d != "" {
		t.Error(d)
	}
}

// look runs doctor on this host, with a daemon that returns status; nil: no daemon.
func look(t *testing.T, line string, status *control.Status) *clitest.Run {
	t.Helper()
	l := testnet.Listen()
	defer l.Close()
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == nil {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		_ = json.NewEncoder(w).Encode(status)
	}))
	return clitest.NewWorld(Command).Look(t, l, line)
}

func TestDoctorLooksAtThisHost(t *testing.T) {
	r := look(t, "doctor --json", nil)
	var findings []Finding
	if err := json.Unmarshal(r.Stdout.Bytes(), &findings); err != nil {
		t.Fatal(err, r)
	}
	failed, seen := false, map[string]bool{}
	for _, f := range findings {
		failed = failed || f.State == Fail
		seen[f.Subject] = true
		if f.Text == "" || f.State != OK && f.Advice == "" {
			t.Errorf("no text or advice: %+v", f)
		}
	}
	if failed != (r.Code == app.ExitFailure) {
		t.Errorf("the exit status is %d: %v", r.Code, findings)
	}
	for _, s := range []string{"system", "gorxe run", "libibverbs", "rxe provider", "daemon"} {
		if !seen[s] {
			t.Errorf("nothing of %s: %v", s, findings)
		}
	}
}

func TestADaemonOfAnotherVersionIsNamed(t *testing.T) {
	for version, want := range map[string]string{
		app.BuildVersion(): "ok    daemon",
		"0.0.1":            "warn  daemon",
	} {
		r := look(t, "doctor", &control.Status{
			Version: version, PID: 77, State: "running", Devices: []control.Device{{Name: "gorxe0"}},
		})
		text := "PID 77, running, version " + version + ", devices: gorxe0"
		if out := r.Stdout.String(); !strings.Contains(out, want) || !strings.Contains(out, text) {
			t.Errorf("a daemon of version %s: %v", version, r)
		}
	}
}
