package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/gorxe/gorxe/internal/histogram"
	"github.com/gorxe/gorxe/tools/bench/blast"
	"github.com/gorxe/gorxe/tools/bench/bounce"
)

// wrongMetric is the error for a contest whose metric the tool does not measure.
func wrongMetric(tool string, m Metric) error { return fmt.Errorf("%s does not measure %s", tool, m) }

// parsePerf parses the JSON output of a gorxe perf client.
func parsePerf(m Metric, out []byte) (Measured, error) {
	var v struct {
		Results []struct {
			Bandwidth *struct {
				Unit        string  `json:"unit"`
				Average     float64 `json:"average"`
				MessageRate float64 `json:"message_rate_mpps"`
			} `json:"bandwidth"`
			Latency *struct {
				Unit      string             `json:"unit"`
				Average   float64            `json:"average"`
				Histogram []histogram.Bucket `json:"histogram"`
			} `json:"latency"`
		} `json:"results"`
		Counters struct {
			Resent uint64 `json:"retransmitted_pkts"`
		} `json:"counters"`
	}
	if err := json.Unmarshal(out, &v); err != nil {
		return Measured{}, fmt.Errorf("the result of gorxe perf: %w", err)
	}
	if len(v.Results) != 1 {
		return Measured{}, fmt.Errorf("gorxe perf has %d results, want 1", len(v.Results))
	}
	got := Measured{Resent: v.Counters.Resent}
	bw, lat := v.Results[0].Bandwidth, v.Results[0].Latency
	switch {
	case m == Bandwidth && bw != nil && bw.Unit == "Gbit/s":
		got.Value = bw.Average
	case m == MessageRate && bw != nil:
		got.Value = bw.MessageRate
	case m == Latency && lat != nil && lat.Unit == "us":
		got.Value, got.Bars = lat.Average, lat.Histogram // qperf reports the average
	default:
		return Measured{}, wrongMetric("this run of gorxe perf", m)
	}
	return got, nil
}

// parseBlast parses the JSON output of blast.
func parseBlast(m Metric, out []byte) (Measured, error) {
	var r blast.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return Measured{}, fmt.Errorf("the result of the blaster: %w", err)
	}
	if r.Seconds <= 0 {
		return Measured{}, errors.New("the blaster took no time")
	}
	if r.Wrong > 0 {
		return Measured{}, fmt.Errorf("the blaster received %d packets with a wrong ICRC", r.Wrong)
	}
	switch m {
	case Bandwidth:
		return Measured{Value: float64(r.Bytes) * 8 / 1e9 / r.Seconds}, nil
	case MessageRate:
		return Measured{Value: float64(r.Segments) / 1e6 / r.Seconds}, nil
	}
	return Measured{}, wrongMetric("the blaster", m)
}

// parseBounce parses the JSON output of a client of the bare loop: half of the average round
// trip.
func parseBounce(m Metric, out []byte) (Measured, error) {
	if m != Latency {
		return Measured{}, wrongMetric("the bare loop", m)
	}
	var r bounce.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return Measured{}, fmt.Errorf("the result of the bare loop: %w", err)
	}
	if r.Messages < 1 || r.Average <= 0 {
		return Measured{}, errors.New("the bare loop exchanged no message")
	}
	return Measured{Value: r.Average, Bars: r.Histogram, Resent: r.Resent}, nil
}

// parseIperf parses the JSON output of an iperf3 client: the rate that the server received.
func parseIperf(m Metric, out []byte) (Measured, error) {
	if m != Bandwidth {
		return Measured{}, wrongMetric("iperf3", m)
	}
	var v struct {
		Error string `json:"error"`
		End   struct {
			Sent struct {
				Resent uint64 `json:"retransmits"`
			} `json:"sum_sent"`
			Received struct {
				Seconds float64 `json:"seconds"`
				Rate    float64 `json:"bits_per_second"`
			} `json:"sum_received"`
		} `json:"end"`
	}
	if err := json.Unmarshal(out, &v); err != nil {
		return Measured{}, fmt.Errorf("the result of iperf3: %w", err)
	}
	if v.Error != "" {
		return Measured{}, errors.New(v.Error)
	}
	if v.End.Received.Seconds <= 0 {
		return Measured{}, errors.New("iperf3 received for no time")
	}
	return Measured{Value: v.End.Received.Rate / 1e9, Resent: v.End.Sent.Resent}, nil
}

// qperfLatency matches the line of qperf's output with the latency.
var qperfLatency = regexp.MustCompile(`(?m)^ +latency += +([0-9,.]+) (ns|us|ms|sec)$`)

// parseQperf parses the output of a qperf client in a latency test: half of the average round
// trip.
func parseQperf(m Metric, out []byte) (Measured, error) {
	if m != Latency {
		return Measured{}, wrongMetric("qperf", m)
	}
	found := qperfLatency.FindAllSubmatch(out, -1)
	if len(found) != 1 {
		return Measured{}, fmt.Errorf("qperf tells %d latencies, want 1: %q", len(found), out)
	}
	digits := regexp.MustCompile(",").ReplaceAll(found[0][1], nil)
	v, err := strconv.ParseFloat(string(digits), 64)
	if err != nil {
		return Measured{}, fmt.Errorf("qperf's latency: %w", err)
	}
	return Measured{Value: v * map[string]float64{"ns": 1e-3, "us": 1, "ms": 1e3, "sec": 1e6}[string(found[0][2])]}, nil
}
