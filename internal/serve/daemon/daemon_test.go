package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// rig is a daemon on a network in memory.
type rig struct {
	t       testing.TB
	socket  *testnet.Listener
	metrics *testnet.Listener
	tools   *testnet.Listener // of perftest and the pingpongs
	log     bytes.Buffer      // to be read after the end
	told    chan string
	opts    Options
	pipes   *pipe.Net
	opened  []*verbs.Device
	end     chan error
	stop    context.CancelFunc
}

func newRig(t testing.TB) *rig {
	r := &rig{t: t, socket: testnet.Listen(), metrics: testnet.Listen(), tools: testnet.Listen(),
		told: make(chan string, 2), end: make(chan error, 1)}
	pipes := pipe.NewNet()
	r.pipes = pipes
	r.opts = Options{
		Version: "v1.2.3", Stderr: &r.log,
		Socket: func(string, fs.FileMode, int) (net.Listener, error) { return r.socket, nil },
		TCP: func(addr string) (net.Listener, error) {
			if addr == ":18515" {
				return r.tools, nil
			}
			return r.metrics, nil
		},
		Notify: func(state string) error { r.told <- state; return nil },
		Open: func(c verbs.Config) (*verbs.Device, error) {
			if !c.Follow {
				t.Error("the device is not to follow the host")
			}
			addr := netip.MustParseAddr("192.0.2.1")
			if c.Device == "eth1" {
				addr = netip.MustParseAddr("198.51.100.1")
			}
			l, err := pipes.Open(addr, 1500)
			if err != nil {
				return nil, err
			}
			c.Device, c.Follow, c.Links = "", false, []packet.Link{l}
			d, err := verbs.Open(c)
			if err == nil {
				r.opened = append(r.opened, d)
			}
			return d, err
		},
	}
	return r
}

func (r *rig) start(text string) {
	r.t.Helper()
	p, err := planOf(r.t, text)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(r.t.Context())
	r.stop = stop
	go func() { r.end <- Run(ctx, p, r.opts) }()
}

func (r *rig) client() *control.Client { return control.NewClient("memory", r.socket.Dial) }

func (r *rig) state() string {
	r.t.Helper()
	var s control.Status
	if err := r.client().Get(r.t.Context(), "/v1/status", nil, &s); err != nil {
		r.t.Fatal(err)
	}
	return s.State
}

// part is a [Part] that the test controls.
type part struct {
	began, drained chan struct{}
	takes          time.Duration // to drain, regardless of ctx
	start, drain   error
}

func newPart(takes time.Duration) *part {
	return &part{began: make(chan struct{}), drained: make(chan struct{}), takes: takes}
}

func (p *part) Start(context.Context, *Daemon) error { close(p.began); return p.start }

func (p *part) Drain(context.Context) error {
	defer close(p.drained)
	time.Sleep(p.takes)
	return p.drain
}

func TestADaemonRunsUntilItIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("log.format = \"json\"\n[[device]]\ninterface = \"eth0\"\nmtu = 512\npeers = [\"192.0.2.0/24\"]\n[[device]]\ninterface = \"eth1\"\nname = \"b\"\ngids = [\"v6\"]")
		if got := <-r.told; got != "READY=1" {
			t.Errorf("the service manager is told %q", got)
		}
		var s control.Status
		if err := r.client().Get(t.Context(), "/v1/status", nil, &s); err != nil {
			t.Fatal(err)
		}
		if s.State != running || s.Version != "v1.2.3" || s.PID != pid || s.LogLevel != "info" || len(s.Devices) != 2 {
			t.Errorf("%+v", s)
		}
		if d := s.Devices[0]; d.Name != "eth0" || d.MTU != 512 || len(d.Peers) != 1 || len(d.GIDs) != 1 ||
			d.Port != "PORT_ACTIVE" || d.MaxQPs != 1048560 {
			t.Errorf("%+v", d)
		}
		if d := r.opened[0]; d.Admits(netip.MustParseAddr("198.51.100.7")) {
			t.Error("the device was not told of its peers")
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		if got := <-r.told; got != "STOPPING=1" {
			t.Errorf("the service manager is told %q", got)
		}
		if _, err := r.opened[1].CreateCQ(1); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("a device is open after the end: %v", err)
		}
		if _, err := r.socket.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("the socket is open after the end: %v", err)
		}
		for _, want := range []string{`"msg":"ready","version":"v1.2.3"`,
			`"msg":"GID","device":"b","index":0,"gid":"::ffff:198.51.100.1"`, `"msg":"stopped"`,
			`"level":"WARN","msg":"waiting for the network","device":"b","on":"eth1","reason":"eth1 has no address of the kind that gids allows, which is v6"`} {
			if !strings.Contains(r.log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, &r.log)
			}
		}
	})
}

// Parts drain concurrently, and one that exceeds the time is not waited for.
func TestDrainingIsBounded(t *testing.T) {
	for _, c := range []struct {
		name  string
		takes []time.Duration
		want  time.Duration
	}{
		{"nothing to drain", nil, 0},
		{"all end in time", []time.Duration{3 * time.Second, 2 * time.Second}, 3 * time.Second},
		{"one does not end", []time.Duration{time.Second, time.Hour}, 10 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				var parts []*part
				for _, takes := range c.takes {
					p := newPart(takes)
					parts = append(parts, p)
					r.opts.Parts = append(r.opts.Parts, p)
				}
				r.start("")
				<-r.told
				for _, p := range parts {
					<-p.began
				}
				began := time.Now()
				r.stop()
				<-r.told
				if len(parts) > 0 {
					if got := r.state(); got != draining {
						t.Errorf("state %s while it drains", got)
					}
				}
				if err := <-r.end; err != nil {
					t.Error(err)
				}
				if took := time.Since(began); took != c.want {
					t.Errorf("it took %v, want %v", took, c.want)
				}
				for _, p := range parts {
					<-p.drained
				}
			})
		})
	}
}

func TestAPartThatFailsToDrainIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		p := newPart(0)
		p.drain = errors.New("3 peers did not answer")
		r.opts.Parts = []Part{p}
		r.start("")
		<-r.told
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		if !strings.Contains(r.log.String(), "3 peers did not answer") {
			t.Errorf("the log:\n%s", &r.log)
		}
	})
}

func TestADaemonThatCannotStartLeavesNothing(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name  string
		spoil func(*rig)
		want  string
	}{
		{"a device", func(r *rig) {
			open := r.opts.Open
			r.opts.Open = func(c verbs.Config) (*verbs.Device, error) {
				if c.Device == "eth1" {
					return nil, broken
				}
				return open(c)
			}
		}, "device eth1 on eth1: broken"},
		{"a part", func(r *rig) {
			first, second := newPart(0), newPart(0)
			second.start = broken
			r.opts.Parts = []Part{first, second, newPart(0)}
			r.t.Cleanup(func() {
				select {
				case <-first.drained:
				default:
					r.t.Error("the part before was not drained")
				}
			})
		}, "broken"},
		{"the metrics", func(r *rig) {
			r.opts.TCP = func(string) (net.Listener, error) { return nil, broken }
		}, "metrics: broken: choose another address with --metrics-listen"},
		{"the socket", func(r *rig) {
			r.opts.Socket = func(string, fs.FileMode, int) (net.Listener, error) { return nil, broken }
		}, "broken"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				c.spoil(r)
				r.start(
					"metrics.listen = \":9481\"\n[[device]]\ninterface = \"eth0\"\n[[device]]\ninterface = \"eth1\"")
				if err := <-r.end; err == nil || err.Error() != c.want {
					t.Errorf("error %v, want %s", err, c.want)
				}
				for _, d := range r.opened {
					if _, err := d.CreateCQ(1); !errors.Is(err, verbs.ErrClosed) {
						t.Error("a device is left open")
					}
				}
				select {
				case state := <-r.told:
					t.Errorf("the service manager was told %s", state)
				default:
				}
				r.stop()
			})
		})
	}
}

func TestMetricsAreServedWhereThePlanSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("metrics.listen = \":9481\"\n[[region]]\nname = \"a\"\nsize = 8")
		<-r.told
		client := http.Client{Transport: &http.Transport{
			DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return r.metrics.Dial(ctx) },
			DisableKeepAlives: true, DisableCompression: true,
		}}
		for path, want := range map[string]string{
			"/metrics":  "gorxe_port_active{device=\"eth0\"} 1\n",
			"/metrics?": "gorxe_region_requests_total{device=\"eth0\",result=\"refused_busy_peer\"} 0\n",
			"/":         "404 page not found\n",
		} {
			resp, err := client.Get("http://gorxe" + path)
			if err != nil {
				t.Fatal(err)
			}
			text, err := io.ReadAll(resp.Body)
			if err := errors.Join(err, resp.Body.Close()); err != nil || !strings.Contains(string(text), want) {
				t.Errorf("%s: %v, no %q in\n%s", path, err, want, text)
			}
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
	})
}

// A request while the daemon starts or ends gets an answer or none, and nothing breaks.
func TestItCanBeLookedIntoWhileItEnds(t *testing.T) {
	for range 20 {
		r := newRig(t)
		r.start("[[device]]\ninterface = \"eth0\"\n[[device]]\ninterface = \"eth1\"")
		var lookers sync.WaitGroup
		ends := make(chan struct{})
		for _, path := range []string{"/v1/status", "/v1/qps", "/v1/mrs", "/v1/cqs", "/v1/srqs", "/v1/groups",
			"/v1/cms", "/v1/stats"} {
			lookers.Go(func() {
				for {
					var v map[string]any
					err := r.client().Get(t.Context(), path, nil, &v)
					if err == nil {
						continue
					}
					select {
					case <-ends: // from here on an accepted connection may be closed
					default:
						t.Errorf("%s: %v", path, err)
					}
					return
				}
			})
		}
		<-r.told
		d := r.opened[0]
		if _, err := d.Listen(verbs.PortSpaceTCP, netip.MustParseAddrPort("192.0.2.1:7174"), 1); err != nil {
			t.Error(err)
		}
		close(ends)
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		lookers.Wait()
	}
}

func TestTheLogTellsOfThePort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		var link watched
		open := r.opts.Open
		r.opts.Open = func(c verbs.Config) (*verbs.Device, error) {
			c.Wrap = func(l packet.Link) packet.Link { link.Link = l; return &link }
			return open(c)
		}
		r.start("")
		<-r.told
		link.changed(false)
		synctest.Wait()
		link.changed(true)
		synctest.Wait()
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		for _, want := range []string{`level=WARN msg=event device=eth0 event="port 1: port error"`,
			`level=INFO msg=event device=eth0 event="port 1: port active"`} {
			if !strings.Contains(r.log.String(), want) {
				t.Errorf("the log has no %s:\n%s", want, &r.log)
			}
		}
	})
}

// watched is a link whose state the test sets.
type watched struct {
	packet.Link
	changed func(up bool)
}

func (w *watched) WatchState(changed func(up bool)) { w.changed = changed }
