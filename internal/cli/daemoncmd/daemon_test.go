package daemoncmd

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/testnet"
)

func TestADaemonIsLookedInto(t *testing.T) {
	withDaemon(t, "daemon --control-socket /run/g.sock --device 192.0.2.1,name=roce,mtu=512 --device 2001:db8::1,peers=2001:db8::/32", func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		time.Sleep(25 * time.Hour)
		for _, line := range []string{"status", "qps", "mrs", "cms", "stats", "qps --json --device roce --type rc"} {
			r := w.Look(t, s, line)
			clitest.MustSucceed(t, line, r)
			switch line {
			case "status":
				for _, want := range []string{" running for 1d1h\n",
					"control /run/g.sock, metrics off, log level info\nservices rping (port 7174), perftest (port 18515), pingpong (port 18515)\n", "roce    ", "2001:db8::/32"} {
					if !strings.Contains(r.Stdout.String(), want) {
						t.Errorf("no %q: %v", want, r)
					}
				}
			case "qps --json --device roce --type rc":
				if r.Stdout.String() != "{\n  \"qps\": []\n}\n" {
					t.Error(r)
				}
			}
		}
		r := w.Look(t, s, "qps -d mlx5_0")
		if r.Code != app.ExitFailure ||
			r.Stderr.String() != `gorxe: there is no device "mlx5_0": there are roce, gorxe1`+"\n" {
			t.Error(r)
		}
	})
}

func TestTheLogLevelIsShownAndChanged(t *testing.T) {
	withDaemon(t, "daemon --log-level error", func(t *testing.T, w *clitest.World, s *testnet.Listener) {
		for _, c := range []struct{ line, want string }{{"loglevel", "error\n"}, {"loglevel debug", "debug\n"},
			{"loglevel", "debug\n"}} {
			if r := w.Look(t, s, c.line); r.Code != 0 || r.Stdout.String() != c.want {
				t.Errorf("%s: %v", c.line, r)
			}
		}
	})
}

func TestWithoutADaemonPeopleAreToldWhatToDo(t *testing.T) {
	s := clitest.NewMemorySocket()
	s.Close()
	for _, line := range []string{"status", "qps", "qps --watch", "mrs", "cms", "stats", "loglevel", "loglevel info"} {
		r := newWorld().Look(t, s, line)
		if want := "gorxe: no gorxe daemon answers at /run/gorxe/control.sock: start one with 'gorxe daemon', or name its socket with --socket\n"; r.Code != app.ExitFailure || r.Stderr.String() != want {
			t.Errorf("%s: %v", line, r)
		}
	}
}

// canned answers requests for a path with the content of a file.
type canned map[string]string

func (c canned) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := c[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = w.Write([]byte(text))
}

func serveCanned(t *testing.T, name string) *testnet.Listener {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	s := clitest.NewMemorySocket()
	server := &http.Server{Handler: canned{"/v1/" + name: string(text)}}
	go server.Serve(s)
	t.Cleanup(func() { server.Close() })
	return s
}

func TestTablesForPeople(t *testing.T) {
	for name, lines := range map[string][]string{
		"status": {"status"}, "qps": {"qps"}, "mrs": {"mrs"}, "cms": {"cms"}, "stats": {"stats", "stats --all"},
	} {
		var all bytes.Buffer
		for _, line := range lines {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(26*time.Hour + 3*time.Minute)
				r := newWorld().Look(t, serveCanned(t, name), line)
				clitest.MustSucceed(t, line, r)
				all.WriteString("$ gorxe " + line + "\n" + r.Stdout.String())
			})
		}
		golden.Check(t, name+".golden", all.String())
	}
}

// A script gets the daemon's response unchanged, including fields that this program does not
// know.
func TestJSONForScripts(t *testing.T) {
	r := newWorld().Look(t, serveCanned(t, "stats"), "stats --json")
	clitest.MustSucceed(t, "stats --json", r)
	if !strings.Contains(r.Stdout.String(), `"not known here": true`) {
		t.Error(r)
	}
}

func TestWatchGoesOnUntilInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serveCanned(t, "qps")
		ctx, stop := context.WithCancel(t.Context())
		r := newWorld().StartWith(ctx, s, nil, "qps", "--watch", "--interval", "2s")
		time.Sleep(5 * time.Second)
		stop()
		<-r.Done
		if n := strings.Count(r.Stdout.String(), "DEVICE"); r.Code != 0 || n != 3 ||
			strings.Count(r.Stdout.String(), "\n\n") != 2 {
			t.Errorf("%d tables, want 3: %v", n, r)
		}
	})
}

// An interrupt during a request also ends --watch without an error.
func TestWatchEndsInTheMiddleOfALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := clitest.NewMemorySocket()
		server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		})}
		go server.Serve(s)
		defer server.Close()
		ctx, stop := context.WithCancel(t.Context())
		r := newWorld().StartWith(ctx, s, nil, "qps", "--watch")
		synctest.Wait()
		stop()
		<-r.Done
		if r.Code != 0 || r.Stderr.Len() > 0 {
			t.Error(r)
		}
	})
}

func TestTheDaemonSaysWhatItWouldDo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gorxe.toml")
	if err := os.WriteFile(file, []byte(
		"drain = \"3s\"\ncontrol.socket = \"/tmp/g\"\n[[device]]\naddress = \"192.0.2.7\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := newWorld().Look(t, clitest.NewMemorySocket(), "daemon --check --log-format json -c "+file)
	clitest.MustSucceed(t, "daemon --check", r)
	golden.Check(t, "check.golden", r.Stdout.String())
}

func TestTheDaemonSaysAllThatIsWrong(t *testing.T) {
	file := filepath.Join(t.TempDir(), "gorxe.toml")
	if err := os.WriteFile(file, []byte("[log]\nlevle = \"info\"\n[[device]]\nmtu = 9000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"daemon -c " + file: "gorxe: " + file + ":2: log.levle: unknown key, did you mean \"level\"?\n" +
			"gorxe: " + file + ":4: device.mtu: invalid value \"9000\": use 256, 512, 1024, 2048 or 4096, or 0 for the largest that the network carries\n",
		"daemon --check --device name=x --session-memory 1KiB": "gorxe: --session-memory: service perftest: memory is 1KiB: it must be 64KiB to 1GiB\n" +
			"gorxe: --device name=x: device x: it needs an interface or an address\n",
		"daemon -c /nothing": "gorxe: open /nothing: no such file or directory\n",
		"daemon --check --device lo --perftest-payload /nothing": "gorxe: --perftest-payload: service perftest: payload: open /nothing: no such file or directory\n",
	} {
		if r := newWorld().Look(t, clitest.NewMemorySocket(), line); r.Code != app.ExitFailure ||
			r.Stderr.String() != want {
			t.Errorf("%s: %v\nwant %s", line, r, want)
		}
	}
	for line, want := range map[string]string{
		"daemon --device mtus=5":    `gorxe: --device: there is no key "mtus": the keys are name, interface, address, link, spin, shards, loopback, gids, mtu, max_qp, max_mr, peers; see 'gorxe daemon --help'` + "\n",
		"daemon --log-level loud":   `gorxe: --log-level: invalid value "loud": use debug, info, warn or error; see 'gorxe daemon --help'` + "\n",
		"daemon eth0":               `gorxe: gorxe daemon takes no argument, got "eth0"` + "\n",
		"loglevel loud":             `gorxe: level: invalid value "loud": use debug, info, warn or error` + "\n",
		"loglevel info info":        `gorxe: gorxe loglevel takes one level; unexpected argument "info"` + "\n",
		"qps --watch --interval 0s": "gorxe: --interval 0s: it must be more than 0\n",
	} {
		if r := newWorld().Look(t, clitest.NewMemorySocket(), line); r.Code != app.ExitUsage ||
			r.Stderr.String() != want {
			t.Errorf("%s: %v\nwant %s", line, r, want)
		}
	}
}

func TestAgesAreShort(t *testing.T) {
	for seconds, want := range map[float64]string{0.9: "0s", 59: "59s", 60: "1m0s", 3599: "59m59s", 3600: "1h0m",
		86399: "23h59m", 86400 * 40: "40d0h"} {
		if got := age(seconds); got != want {
			t.Errorf("%v seconds are %s, want %s", seconds, got, want)
		}
	}
}
