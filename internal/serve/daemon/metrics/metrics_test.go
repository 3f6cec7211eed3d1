package metrics

import (
	"encoding/json"
	"errors"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// gather returns the metrics of a device with count queue pairs in RESET and one in RTS,
// optionally with a connection manager.
func gather(t *testing.T, count int, cm bool) []*dto.MetricFamily {
	t.Helper()
	link := must(pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500))
	d := must(verbs.Open(verbs.Config{Links: []packet.Link{link}, MaxQP: 1000, MaxMR: 10}))
	defer d.Close()
	pd, cq := d.AllocPD(), must(d.CreateCQ(10))
	for range count {
		must(pd.CreateQP(verbs.QPInitAttr{SendCQ: cq}))
	}
	ud := must(pd.CreateQP(verbs.QPInitAttr{Type: verbs.UD, SendCQ: cq}))
	if err := ud.StartDatagrams(1, 2); err != nil {
		t.Fatal(err)
	}
	if cm {
		listen(d)
	}
	program := d.OpenContext(verbs.ContextLimits{})
	defer program.Close()
	program.SetOwner("4711 ib_write_bw\xff")
	must(must(program.AllocPD()).CreateQP(verbs.QPInitAttr{SendCQ: must(program.CreateCQ(10)), Type: verbs.UC}))
	must(pd.RegMR(make([]byte, 4096), verbs.LocalWrite))
	must(pd.RegMR(make([]byte, 100), verbs.LocalWrite|verbs.MWBind))
	must(pd.AllocMW(verbs.MWType1))
	must(pd.AllocFastMR(1 << 20))
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(
		&Collector{Devices: func() []*verbs.Device { return []*verbs.Device{d} }, Draining: func() bool { return true },
			Version: "v1", DaemonCounters: tracing(cm)},
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return must(r.Gather())
}

// tracing returns the counters of a daemon with or without a trace.
func tracing(there bool) func(f func(name string, value uint64)) {
	return func(f func(name string, value uint64)) {
		if there {
			f("trace_errors", 0)
		}
	}
}

// listen starts the connection manager.
func listen(d *verbs.Device) {
	must(d.Listen(verbs.PortSpaceTCP, netip.MustParseAddrPort("192.0.2.1:7174"), 1))
}

// values returns the metrics whose names start with gorxe_, by name and labels.
func values(families []*dto.MetricFamily) map[string]float64 {
	out := map[string]float64{}
	for _, f := range families {
		if !strings.HasPrefix(f.GetName(), "gorxe_") {
			continue
		}
		for _, m := range f.Metric {
			var labels []string
			for _, l := range m.Label {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			out[f.GetName()+"{"+strings.Join(labels, ",")+"}"] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return out
}

func TestWhatPrometheusSees(t *testing.T) {
	got := values(gather(t, 3, false))
	for name, want := range map[string]float64{
		"gorxe_build_info{version=v1}":                                       1,
		"gorxe_draining{}":                                                   1,
		"gorxe_port_active{device=gorxe0}":                                   1,
		"gorxe_path_mtu_bytes{device=gorxe0}":                                1024,
		"gorxe_gids{device=gorxe0}":                                          1,
		"gorxe_queue_pairs{device=gorxe0,state=RESET,type=RC}":               3,
		"gorxe_queue_pairs{device=gorxe0,state=RTS,type=UD}":                 1,
		"gorxe_queue_pairs{device=gorxe0,state=RTS,type=RC}":                 0,
		"gorxe_program_queue_pairs{device=gorxe0,program=4711 ib_write_bw?}": 1,
		"gorxe_queue_pairs_limit{device=gorxe0}":                             1000,
		"gorxe_memory_regions_limit{device=gorxe0}":                          10,
		"gorxe_memory_keys{device=gorxe0,kind=region}":                       2,
		"gorxe_memory_keys{device=gorxe0,kind=window1}":                      1,
		"gorxe_memory_keys{device=gorxe0,kind=fast}":                         1,
		"gorxe_memory_registered_bytes{device=gorxe0}":                       4196,
		"gorxe_completion_queues{device=gorxe0}":                             2,
		"gorxe_completion_queues_overflowed{device=gorxe0}":                  0,
		"gorxe_shared_receive_queues{device=gorxe0}":                         0,
		"gorxe_multicast_groups{device=gorxe0}":                              0,
		"gorxe_early_requests_held{device=gorxe0}":                           0,
		"gorxe_dropped_packets_total{device=gorxe0,reason=bad_icrc}":         0,
		"gorxe_verdicts_total{device=gorxe0,verdict=accepted}":               0,
		"gorxe_received_packets_total{device=gorxe0}":                        0,
		"gorxe_link_receive_queue_full_packets_total{device=gorxe0}":         0,
		"gorxe_retries_exceeded_total{device=gorxe0}":                        0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (there: %v), want %v", name, v, ok, want)
		}
	}
}

func TestPrometheusSeesTheConnectionManager(t *testing.T) {
	got := values(gather(t, 0, true))
	for _, name := range []string{
		"gorxe_cm_connections{device=gorxe0,state=ESTABLISHED}",
		"gorxe_cm_received_messages_total{device=gorxe0,message=req}",
		"gorxe_cm_verdicts_total{device=gorxe0,verdict=no_listener}", "gorxe_cm_unsent_messages_total{device=gorxe0}",
	} {
		if v, ok := got[name]; !ok || v != 0 {
			t.Errorf("%s is %v (there: %v), want 0", name, v, ok)
		}
	}
}

// The number of time series of a device does not grow with its objects.
func TestLabelsAreBounded(t *testing.T) {
	few, many := values(gather(t, 0, true)), values(gather(t, 500, true))
	if len(few) != len(many) {
		t.Errorf("%d series with 1 queue pair, %d with 501", len(few), len(many))
	}
	if len(few) > 250 {
		t.Errorf("%d series for one device", len(few))
	}
}

func TestNamesFollowThePracticeOfPrometheus(t *testing.T) {
	var own []*dto.MetricFamily
	for _, f := range gather(t, 1, true) {
		if strings.HasPrefix(f.GetName(), "gorxe_") {
			own = append(own, f)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(own).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Every counter of a device has a help text and its own name; no counter in the table is
// obsolete.
func TestEveryCounterIsKnown(t *testing.T) {
	link := must(pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500))
	d := must(verbs.Open(verbs.Config{Links: []packet.Link{link}}))
	defer d.Close()
	listen(d)
	left := maps.Clone(known)
	for name := range d.Counters() {
		if f, _ := inFamily(name); f != nil {
			continue
		}
		if _, ok := known[name]; !ok {
			t.Errorf("counter %s has no help: add it to known", name)
		}
		delete(left, name)
	}
	for name := range left {
		t.Errorf("there is no counter %s", name)
	}
}

const docs = "../../../../docs/monitoring"

// Every metric and every label in the examples exists.
func TestTheExamplesNameMetricsThatExist(t *testing.T) {
	labels := map[string][]string{} // by metric
	for _, f := range gather(t, 1, true) {
		have := []string{}
		for _, l := range f.Metric[0].Label {
			have = append(have, l.GetName())
		}
		labels[f.GetName()] = have
	}
	// A metric, followed by its braces.
	metric := regexp.MustCompile(`\b((?:gorxe|process|go)_[a-z0-9_]+)(\{[^}]*\})?`)
	label := regexp.MustCompile(`([a-z_]+)\s*(?:=~|!~|!=|=)`)
	for _, name := range []string{"alerts.yml", "dashboard.json"} {
		text := strings.ReplaceAll(string(must(os.ReadFile(filepath.Join(docs, name)))), `\"`, `"`)
		found := 0
		for _, m := range metric.FindAllStringSubmatch(text, -1) {
			found++
			have, ok := labels[m[1]]
			if !ok {
				t.Errorf("%s: there is no metric %s", name, m[1])
			}
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				if l := l[1]; l != "job" && l != "instance" && !slices.Contains(have, l) {
					t.Errorf("%s: %s has no label %s", name, m[1], l)
				}
			}
		}
		if found < 5 {
			t.Errorf("%s names %d metrics", name, found)
		}
	}
}

func TestTheDashboardIsWhole(t *testing.T) {
	var d struct {
		Title  string
		Panels []struct {
			ID      int
			Title   string
			Type    string
			Targets []struct{ Expr, LegendFormat string }
			GridPos struct{ X, Y, W, H int }
		}
	}
	if err := json.Unmarshal(must(os.ReadFile(filepath.Join(docs, "dashboard.json"))), &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || len(d.Panels) < 5 {
		t.Errorf("%q with %d panels", d.Title, len(d.Panels))
	}
	ids := map[int]bool{}
	for _, p := range d.Panels {
		if ids[p.ID] || p.Title == "" || len(p.Targets) == 0 || p.GridPos.W == 0 || p.GridPos.X+p.GridPos.W > 24 {
			t.Errorf("panel %+v", p)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			if strings.Count(target.Expr, "(") != strings.Count(target.Expr, ")") || target.Expr == "" {
				t.Errorf("panel %s: %q", p.Title, target.Expr)
			}
		}
	}
}

// A packet of a peer that is not the expected one is held.
func TestPrometheusSeesPacketsThatAreHeld(t *testing.T) {
	pipes := pipe.NewNet()
	var devices [2]*verbs.Device
	var ends [2]*verbs.QP
	var infos [2]verbs.ConnInfo
	for i, addr := range []string{"192.0.2.1", "192.0.2.2"} {
		d := must(verbs.Open(verbs.Config{Links: []packet.Link{must(pipes.Open(netip.MustParseAddr(addr), 1500))}}))
		defer d.Close()
		devices[i] = d
		ends[i] = must(d.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: must(d.CreateCQ(10)),
			Cap: verbs.QPCap{MaxSendWR: 1}}))
		infos[i] = must(ends[i].Local(0, 0))
	}
	attr := verbs.DefaultConnAttr()
	attr.PathMTU = 1024
	ahead := infos[0]
	ahead.PSN = (ahead.PSN + 1) & 0xffffff
	if err := errors.Join(ends[0].Connect(ahead, infos[1], attr),
		ends[1].Connect(infos[1], infos[0], attr)); err != nil {
		t.Fatal(err)
	}
	if err := ends[0].PostSend(&verbs.SendWR{Opcode: verbs.WRWrite}); err != nil {
		t.Fatal(err)
	}
	seen := func() float64 {
		r := prometheus.NewPedanticRegistry()
		r.MustRegister(&Collector{Devices: func() []*verbs.Device { return devices[1:] },
			Draining: func() bool { return false }, Version: "v1"})
		return values(must(r.Gather()))["gorxe_early_requests_held{device=gorxe0}"]
	}
	for begun := time.Now(); seen() != 1; time.Sleep(time.Millisecond) {
		if time.Since(begun) > 10*time.Second {
			t.Fatalf("%v packets are held, want 1", seen())
		}
	}
	for q := range devices[1].QPs() {
		if q.Early != 1 {
			t.Errorf("queue pair %#x holds %d packets, want 1", q.QPN, q.Early)
		}
	}
	if err := ends[1].Close(); err != nil {
		t.Fatal(err)
	}
	if n := seen(); n != 0 {
		t.Errorf("%v packets are held for a queue pair that is closed", n)
	}
}
