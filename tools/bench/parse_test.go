package bench

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Output of the tools on a Linux host: iperf3 3.12, qperf 0.4.11, gorxe. The two of perftest are
// not recordings: they were composed in the formats of its source, with its column names.
func TestWhatToolsPrintIsUnderstood(t *testing.T) {
	for _, tt := range []struct {
		tool, file string
		metric     Metric
		value      float64
		resent     uint64
		times      int64 // in the histogram
	}{
		{"iperf3", "iperf3.json", Bandwidth, 5.0368366505711927, 91, 0},
		{"qperf", "qperf_udp_lat.txt", Latency, 30.269, 0, 0},
		{"qperf", "qperf_vv.txt", Latency, 31.6357, 0, 0},
		{"perf", "perf_write_bw.json", Bandwidth, 2.685403136, 0, 0},
		{"perf", "perf_write_bw.json", MessageRate, 0.005122, 0, 0},
		{"perf", "perf_send_lat.json", Latency, 257.3885002503754, 1, 1999},
		{"perftest", "ib_write_bw.txt", Bandwidth, 0.16777216, 0, 0},
		{"perftest", "ib_send_lat.txt", Latency, 300.15, 0, 10},
		{"blast", "blast.json", Bandwidth, 48.7562, 0, 0},
		{"blast", "blast.json", MessageRate, 1.48213, 0, 0},
		{"bounce", "bounce.json", Latency, 73.0528, 0, 200},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", tt.file))
		if err != nil {
			t.Fatal(err)
		}
		got, err := tools[tt.tool].parse(tt.metric, text)
		if err != nil {
			t.Errorf("%s as %s: %v", tt.file, tt.metric, err)
			continue
		}
		var times int64
		for _, b := range got.Bars {
			times += b.Count
		}
		if math.Abs(got.Value-tt.value) > tt.value/1000 || got.Resent != tt.resent || times != tt.times {
			t.Errorf("%s as %s: %v, %d sent again, %d times; want %v, %d, %d", tt.file, tt.metric, got.Value,
				got.Resent, times, tt.value, tt.resent, tt.times)
		}
	}
}

func TestUnitsOfQperf(t *testing.T) {
	for text, want := range map[string]float64{
		"tcp_lat:\n    latency  =  246 us\n":      246,
		"tcp_lat:\n    latency  =  1.5 ms\n":      1500,
		"tcp_lat:\n    latency  =  2 sec\n":       2e6,
		"tcp_lat:\n    latency  =  950 ns\n":      0.95,
		"tcp_lat:\n    latency  =  12,345.5 us\n": 12345.5,
	} {
		if got, err := parseQperf(Latency, []byte(text)); err != nil || math.Abs(got.Value-want) > 1e-9 {
			t.Errorf("%q: %v, %v; want %v", text, got.Value, err, want)
		}
	}
}

// No output of a tool that fails is taken for a result.
func TestWhatIsNoResultIsAnError(t *testing.T) {
	for _, tt := range []struct{ tool, text, want string }{
		{"iperf3", `{"error": "unable to connect to server: Connection refused"}`, "Connection refused"},
		{"iperf3", `{"end": {}}`, "no time"},
		{"iperf3", ``, "result of iperf3"},
		{"qperf", "nosuch: bad test; try: qperf --help tests\n", "0 latencies"},
		{"qperf", "a:\n    latency  =  1 us\nb:\n    latency  =  2 us\n", "2 latencies"},
		{"perf", `{"results": []}`, "0 results"},
		{"perf", `{"results": [{}]}`, "does not measure"},
		{"perf", `{"results": [{"bandwidth": {"unit": "MiB/s", "average": 1}}]}`, "does not measure"},
		{"perf", "gorxe: no", "result of gorxe perf"},
		{"perftest", "Couldn't connect to 198.18.0.1:20000\n", "no table"},
		{"perftest", " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n", "no table"},
		{"perftest", " #bytes  #iterations    t_avg[usec]    tps average\n 8 10 1.0 2.0\n", "does not measure"},
		{"perftest", " #bytes #iterations    t_avg[usec]    t_stdev[usec]\n 8 10 inf -nan\n", "does not measure"},
		{"blast", `{}`, "no time"},
		{"blast", "", "result of the blaster"},
		{"blast", `{"bytes": 1, "seconds": 1, "wrong": 3}`, "3 packets with a wrong ICRC"},
		{"bounce", `{}`, "no message"},
		{"bounce", "bench: no", "result of the bare loop"},
		{"start", "", "starts"},
		{"start-run", "{}", "not started"},
	} {
		m := Bandwidth
		switch tt.tool {
		case "qperf", "bounce":
			m = Latency
		case "start", "start-run":
			m = StartUp
		}
		if got, err := tools[tt.tool].parse(m, []byte(tt.text)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s printing %q: %+v, %v; want an error with %q", tt.tool, tt.text, got, err, tt.want)
		}
	}
	for name, tool := range tools {
		if _, err := tool.parse("apples", []byte(`{"seconds": 1}`)); err == nil {
			t.Errorf("%s measures apples", name)
		}
	}
}
