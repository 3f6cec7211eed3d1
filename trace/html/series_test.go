package html_test

import (
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/trace"
	tracehtml "github.com/gorxe/gorxe/trace/html"
	"github.com/gorxe/gorxe/trace/internal/scene"
)

// row positions in a series; see point.row.
const (
	rowIndex = iota
	rowPackets
	rowBytes
	rowDelivered
	rowAgain
	rowRTT
	rowCE
	rowCNPs
	rowInFlight
	rowOutstanding
	rowInFlightEnd
	rowOutstandingEnd
)

type series struct {
	interval time.Duration
	rows     [][]float64
}

func (s series) at(row, column int) float64 {
	if column < len(s.rows[row]) {
		return s.rows[row][column]
	}
	return 0
}

func (s series) sum(column int) (n float64) {
	for i := range s.rows {
		n += s.at(i, column)
	}
	return n
}

func seriesIn(v any) series {
	d := v.(map[string]any)
	s := series{interval: time.Duration(d["i"].(float64))}
	for _, r := range d["p"].([]any) {
		var row []float64
		for _, v := range r.([]any) {
			row = append(row, v.(float64))
		}
		s.rows = append(s.rows, row)
	}
	return s
}

// seriesOf returns the series of all packets and those of the flows.
func seriesOf(t *testing.T, packets []*trace.Packet) (total series, flows []series) {
	t.Helper()
	_, doc := dataOf(t, render(t, tracehtml.Options{}, packets))
	for _, v := range doc["series"].([]any) {
		flows = append(flows, seriesIn(v))
	}
	return seriesIn(doc["total"]), flows
}

func TestASeriesHasTheSumsOfItsPackets(t *testing.T) {
	s := scene.Many(3000, 3)
	var bytes, again float64
	for i, k := range s.Packets {
		k.Delivered, k.RTT = k.PayloadLen(), time.Duration(i%2)*time.Microsecond
		k.IP.TrafficClass = uint8(i % 4)
		bytes += float64(k.Len)
		if k.Again {
			again++
		}
	}
	total, flows := seriesOf(t, s.Packets)
	check := func(what string, column int, want float64) {
		t.Helper()
		sum := 0.0
		for _, f := range flows {
			sum += f.sum(column)
		}
		if total.sum(column) != want || sum != want {
			t.Errorf("%s: %v in all, %v in the flows, want %v", what, total.sum(column), sum, want)
		}
	}
	check("packets", rowPackets, float64(len(s.Packets)))
	check("bytes", rowBytes, bytes)
	check("again", rowAgain, again)
	check("CE", rowCE, float64(len(s.Packets)/4))
	for _, f := range append(flows, total) {
		if len(f.rows) > 512 || f.at(len(f.rows)-1, rowIndex) >= 512 {
			t.Errorf("%d points", len(f.rows))
		}
		for i := range f.rows {
			if i > 0 && f.at(i, rowIndex) <= f.at(i-1, rowIndex) {
				t.Errorf("point %d is not after the one before", i)
			}
			if rtt := f.at(i, rowRTT); rtt != 0 && rtt != 1000 {
				t.Errorf("mean RTT %v, every sample is 1 µs", rtt)
			}
		}
	}
}

func TestTheIntervalGrowsWithTheCapture(t *testing.T) {
	for _, c := range []struct{ gap, want time.Duration }{
		{time.Microsecond, 10 * time.Microsecond}, {time.Millisecond, 2560 * time.Microsecond},
		{time.Hour, 10 * time.Microsecond << 30},
	} {
		s := scene.New()
		f := s.Flow(bth.ServiceRC, trace.End{Addr: longAddrs[0]}, trace.End{Addr: longAddrs[1]})
		for range 1000 {
			s.After(c.gap - 3*time.Microsecond)
			s.Packet(f, 0, trace.Request, bth.Packet{Opcode: bth.RCSendOnly}, "")
		}
		total, _ := seriesOf(t, s.Packets)
		if total.interval != c.want || total.sum(rowPackets) != 1000 {
			t.Errorf("gaps of %v: interval %v, want %v; %v packets", c.gap, total.interval, c.want,
				total.sum(rowPackets))
		}
	}
}

func TestWhatRequestersWaitForIsAddedUp(t *testing.T) {
	s := scene.Many(0, 2)
	packet := func(flow, from int, role trace.Role, inFlight, outstanding int) {
		k := s.Packet(s.Flows[flow], from, role, bth.Packet{Opcode: bth.RCSendOnly}, "")
		k.InFlight, k.Outstanding = inFlight, outstanding
		s.After(20 * time.Microsecond)
	}
	packet(0, 0, trace.Request, 5, 2)
	packet(0, 1, trace.Request, 3, 1) // the other end asks, too
	packet(1, 0, trace.Request, 7, 4)
	packet(0, 1, trace.Ack, 0, 0) // answers end 0
	packet(0, 0, trace.CM, 99, 99)
	total, flows := seriesOf(t, s.Packets)
	for i, want := range [][2]float64{{5, 2}, {8, 3}, {15, 7}, {10, 5}, {10, 5}} {
		for _, columns := range [][2]int{{rowInFlight, rowOutstanding}, {rowInFlightEnd, rowOutstandingEnd}} {
			if got := [2]float64{total.at(i, columns[0]), total.at(i, columns[1])}; got != want {
				t.Errorf("point %d: %v in flight and outstanding, want %v", i, got, want)
			}
		}
	}
	if got := flows[0].at(1, rowInFlight); got != 8 {
		t.Errorf("%v in flight in the first flow, want 8", got)
	}
}

// The memory for series is bounded: with many flows each has fewer points.
func TestManyFlowsHaveFewerPoints(t *testing.T) {
	if race.Enabled {
		t.Skip("smaller captures take the same way: the race detector finds nothing more in many packets")
	}
	s := scene.Many(0, 3000)
	for i := range 120_000 {
		s.Packet(s.Flows[i%3000], 0, trace.Request, bth.Packet{Opcode: bth.RCSendOnly}, "")
	}
	total, flows := seriesOf(t, s.Packets)
	points := 0
	for _, f := range flows {
		points += len(f.rows)
	}
	if points > 1<<16 || points < 1<<14 {
		t.Errorf("%d points in the flows", points)
	}
	if len(total.rows) < 256 {
		t.Errorf("%d points in all", len(total.rows))
	}
}
