package control

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// device returns a device with an object of every kind, on a network in memory; its numbers are
// always the same.
func device(t *testing.T, net *pipe.Net, name, addr string) *verbs.Device {
	t.Helper()
	link := must(net.Open(netip.MustParseAddr(addr), 1500))
	d := must(verbs.Open(verbs.Config{Name: name, Links: []packet.Link{link}, Seed: 7}))
	pd := d.AllocPD()
	cq := must(d.CreateCQ(100))
	srq := must(pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 4, MaxSGE: 1, Limit: 1}))
	mr := must(pd.RegMemory(memory{}, verbs.LocalWrite|verbs.RemoteRead|verbs.MWBind))
	must(pd.AllocMW(verbs.MWType2))
	must(pd.AllocFastMR(4096))
	ud := must(pd.CreateQP(verbs.QPInitAttr{Type: verbs.UD, SendCQ: cq, SRQ: srq}))
	if err := ud.StartDatagrams(5, 6); err != nil {
		t.Fatal(err)
	}
	group := "239.1.2.3"
	if link.Local().Is6() {
		group = "ff0e::7"
	}
	if err := ud.AttachMulticast(must(verbs.MulticastGID(netip.MustParseAddr(group)))); err != nil {
		t.Fatal(err)
	}
	rc := must(pd.CreateQP(verbs.QPInitAttr{SendCQ: cq}))
	attr := verbs.DefaultConnAttr()
	attr.Timeout = 0
	local := must(rc.Local(0, 1000))
	remote := verbs.ConnInfo{QPN: 0x77, PSN: 2000, GID: local.GID, MTU: 1024}
	remote.GID[15] = 99
	if err := rc.Connect(local, remote, attr); err != nil {
		t.Fatal(err)
	}
	if err := rc.PostSend(&verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{mr.SGE(0, 3000)}}); err != nil {
		t.Fatal(err)
	}
	return d
}

// memory is 1 MiB of zeros that stores nothing.
type memory struct{}

func (memory) Size() uint64                     { return 1 << 20 }
func (memory) ReadAt(p []byte, _ uint64) error  { clear(p); return nil }
func (memory) WriteAt(p []byte, _ uint64) error { return nil }

// serve runs f with a server of two devices, some time after they were opened.
func serve(t *testing.T, f func(t *testing.T, s *Server)) {
	synctest.Test(t, func(t *testing.T) {
		net := pipe.NewNet()
		devices := []*verbs.Device{device(t, net, "gorxe0", "192.0.2.1"), device(t, net, "gorxe1", "2001:db8::1")}
		defer func() {
			for _, d := range devices {
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		}()
		time.Sleep(90 * time.Second)
		var level slog.LevelVar
		f(t, &Server{
			Status:  func() Status { return Status{Version: "v1.2.3", PID: 42, State: "running", Started: time.Now()} },
			Devices: func() []*verbs.Device { return devices },
			Level:   &level, Log: slog.New(slog.DiscardHandler),
		})
	})
}

func ask(s *Server, method, target, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	s.ServeHTTP(w, httptest.NewRequest(method, target, content))
	return w
}

func TestWhatCanBeAsked(t *testing.T) {
	serve(t, func(t *testing.T, s *Server) {
		var all bytes.Buffer
		for _, target := range []string{
			"/v1/status", "/v1/qps", "/v1/qps?device=gorxe1&type=RC&state=RTS", "/v1/qps?state=ERR", "/v1/mrs",
			"/v1/cqs", "/v1/srqs",
			"/v1/groups?device=gorxe0", "/v1/log",
		} {
			w := ask(s, "GET", target, "")
			if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
				t.Errorf("%s: %d, %v", target, w.Code, w.Header())
			}
			fmt.Fprintf(&all, "GET %s\n", target)
			if err := json.Indent(&all, w.Body.Bytes(), "", "  "); err != nil {
				t.Errorf("%s: %v", target, err)
			}
		}
		golden.Check(t, "answers.golden", all.String())
	})
}

func TestStatsAreTheCountersByName(t *testing.T) {
	serve(t, func(t *testing.T, s *Server) {
		var got struct{ Stats []Stats }
		if err := json.Unmarshal(ask(s, "GET", "/v1/stats?device=gorxe1", "").Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Stats{{"gorxe1", s.Devices()[1].Counters()}}, got.Stats); diff != "" ||
			got.Stats[0].Counters["sent_pkts"] != 3 {
			t.Errorf("%v\n%s", got.Stats, diff)
		}
	})
}

func TestStatsOfAllDevicesHaveThoseOfTheDaemonItself(t *testing.T) {
	serve(t, func(t *testing.T, s *Server) {
		s.DaemonCounters = func(f func(name string, value uint64)) { f("respond_sessions_perftest", 2) }
		for target, want := range map[string][]string{"/v1/stats": {"gorxe0", "gorxe1", ""},
			"/v1/stats?device=gorxe1": {"gorxe1"}} {
			var got struct{ Stats []Stats }
			if err := json.Unmarshal(ask(s, "GET", target, "").Body.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, of := range got.Stats {
				names = append(names, of.Device)
				if of.Device == "" && of.Counters["respond_sessions_perftest"] != 2 {
					t.Errorf("%s: of the daemon itself %v", target, of.Counters)
				}
			}
			if !slices.Equal(names, want) {
				t.Errorf("%s: %q, want %q", target, names, want)
			}
		}
	})
}

func TestConnectionsAreThoseOfTheManager(t *testing.T) {
	serve(t, func(t *testing.T, s *Server) {
		if w := ask(s, "GET", "/v1/cms", ""); w.Code != 200 || w.Body.String() != "{\"cms\": [\n]}\n" {
			t.Errorf("where nobody connects: %d %s", w.Code, w.Body)
		}
		d := s.Devices()[0]
		ctx, cancel := context.WithCancel(t.Context())
		var dialing sync.WaitGroup
		dialing.Go(func() {
			q := must(d.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: must(d.CreateCQ(1))}))
			_, _ = d.Dial(ctx, netip.MustParseAddrPort("192.0.2.99:7174"), q, verbs.DefaultConnParam())
		})
		synctest.Wait()
		var got struct{ CMs []CM }
		err := json.Unmarshal(ask(s, "GET", "/v1/cms?device=gorxe0", "").Body.Bytes(), &got)
		if err != nil || len(got.CMs) != 1 || got.CMs[0].State != "REQ_SENT" || got.CMs[0].PortSpace != "TCP" ||
			got.CMs[0].Remote != netip.MustParseAddrPort("192.0.2.99:7174") ||
			got.CMs[0].Local.Addr() != netip.MustParseAddr("192.0.2.1") {
			t.Errorf("%+v, %v", got, err)
		}
		if w := ask(s, "GET", "/v1/cms?device=gorxe1", ""); w.Body.String() != "{\"cms\": [\n]}\n" {
			t.Errorf("of the other device: %s", w.Body)
		}
		cancel()
		dialing.Wait()
	})
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	paths := "/v1/cms, /v1/cqs, /v1/groups, /v1/log, /v1/mrs, /v1/packets, /v1/qps, /v1/srqs, /v1/stats, /v1/status"
	for _, c := range []struct {
		method, target, body string
		code                 int
		want                 string
	}{
		{"GET", "/", "", 404, `unknown path "/"; known: ` + paths},
		{"GET", "/v2/status", "", 404, `unknown path "/v2/status"; known: ` + paths},
		{"GET", "/v1/status/", "", 404, `unknown path "/v1/status/"; known: ` + paths},
		{"POST", "/v1/status", "{}", 405, `POST is not possible on /v1/status: use GET`},
		{"DELETE", "/v1/log", "", 405, `DELETE is not possible on /v1/log: use GET, PUT`},
		{"GET", "/v1/status?x=1", "", 400, `/v1/status takes no query keys, got "x"`},
		{"GET", "/v1/qps?qpn=1", "", 400, `unknown query key "qpn" of /v1/qps; known: device, type, state`},
		{"GET", "/v1/qps?type=XRC", "", 400, `type: "XRC" is none: there are GSI, RC, UC, UD`},
		{"GET", "/v1/qps?state=rts", "", 400, `state: "rts" is none: there are RESET, INIT, RTR, RTS, SQD, SQE, ERR`},
		{"GET", "/v1/qps?type=RC&type=UD", "", 400, `"type" is given 2 times: give it once`},
		{"GET", "/v1/mrs?device=mlx5_0", "", 404, `there is no device "mlx5_0": there are gorxe0, gorxe1`},
		{"GET", "/v1/stats?device=mlx5_0", "", 404, `there is no device "mlx5_0": there are gorxe0, gorxe1`},
		{"GET", "/v1/mrs?a=%zz", "", 400, `the query: invalid URL escape "%zz"`},
		{"GET", "/v1/status", "x", 400, `a GET has no body`},
		{"GET", "/v1/packets?peer=all", "", 400, `peer: "all" is no IP address`},
		{"GET", "/v1/packets", "", 404, `packet streams are not available`},
		{"PUT", "/v1/log", `{"level":"loud"}`, 400, `level: invalid value "loud": use debug, info, warn or error`},
		{"PUT", "/v1/log", `{}`, 400, `level: invalid value "": use debug, info, warn or error`},
		{"PUT", "/v1/log", `{"level":"info","x":1}`, 400, `the body: unknown field "x"`},
		{"PUT", "/v1/log", `{"level":"info"}{}`, 400, `the body: there is something behind the object`},
		{"PUT", "/v1/log", `{"level":5}`, 400,
			`the body: cannot unmarshal number into Go struct field Log.level of type string`},
		{"PUT", "/v1/log", `{"level":"` + strings.Repeat("x", maxBody) + `"}`, 400,
			`the body: http: request body too large`},
	} {
		serve(t, func(t *testing.T, s *Server) {
			w := ask(s, c.method, c.target, c.body)
			var p Problem
			if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || w.Code != c.code || p.Error != c.want {
				t.Errorf("%s %s: %d %q, want %d %q", c.method, c.target, w.Code, p.Error, c.code, c.want)
			}
			if (w.Code == http.StatusMethodNotAllowed) != (w.Header().Get("Allow") != "") {
				t.Errorf("%s %s: Allow: %q", c.method, c.target, w.Header().Get("Allow"))
			}
			if s.Level.Level() != slog.LevelInfo {
				t.Error("what was refused changed the level")
			}
		})
	}
}

func TestTheLogLevelChangesAtRunTime(t *testing.T) {
	serve(t, func(t *testing.T, s *Server) {
		var out bytes.Buffer
		s.Log = slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: s.Level}))
		for _, to := range []string{"debug", "error", "warn"} {
			if w := ask(s, "PUT", "/v1/log", `{"level":"`+to+`"}`); w.Code != 200 {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
			if w := ask(s, "GET", "/v1/log", ""); w.Body.String() != `{"level":"`+to+`"}`+"\n" {
				t.Errorf("the level is %s, want %s", w.Body, to)
			}
		}
		if n := strings.Count(out.String(), "log level changed"); n != 3 {
			t.Errorf("%d of 3 changes are logged:\n%s", n, &out)
		}
	})
}

// A list that exceeds any buffer is complete, and one whose client disconnects ends.
func TestLongListsAreSentAsTheyAreMade(t *testing.T) {
	link := must(pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500))
	d := must(verbs.Open(verbs.Config{Links: []packet.Link{link}}))
	defer d.Close()
	cq, pd := must(d.CreateCQ(1)), d.AllocPD()
	const count = 2000
	for range count {
		must(pd.CreateQP(verbs.QPInitAttr{SendCQ: cq}))
	}
	s := &Server{Devices: func() []*verbs.Device { return []*verbs.Device{d} }}
	var got struct{ QPs []QP }
	if err := json.Unmarshal(ask(s, "GET", "/v1/qps", "").Body.Bytes(), &got); err != nil || len(got.QPs) != count {
		t.Errorf("%d queue pairs, %v; want %d", len(got.QPs), err, count)
	}
	w := &deaf{ResponseRecorder: httptest.NewRecorder()}
	s.ServeHTTP(w, httptest.NewRequest("GET", "/v1/qps", nil))
	if w.calls != 1 {
		t.Errorf("%d writes to a client that is gone", w.calls)
	}
}

// deaf is a client that has disconnected.
type deaf struct {
	*httptest.ResponseRecorder
	calls int
}

func (d *deaf) Write([]byte) (int, error) { d.calls++; return 0, io.ErrClosedPipe }
