package gobackn_test

import (
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/trace/internal/gobackn"
)

var long = flag.Bool("long", false, "simulate all sizes with all variants")

// seeds returns the number of simulations of each variant.
func seeds() int {
	if race.Enabled && !*long {
		return 2
	}
	return 20
}

// limits are the maximum counts of a variant. A variant without limits must have none of these.
type limits struct {
	wrong     int // wrong causes, and retransmissions that are not noticed
	undecided int // undecided causes that the capture decides
	doubtful  int // wrong causes where the capture cannot decide
	pairs     int // connections that are paired wrongly or not at all
	messages  int // messages that are not completed or not there, although they were answered
}

func (l *limits) check(t *testing.T, c *tally) {
	t.Helper()
	t.Log(c.String())
	for _, x := range []struct {
		what     string
		got, max int
	}{
		{"wrong or not noticed", c.wrong + c.none, l.wrong},
		{"undecided although the capture decides", c.undecided, l.undecided},
		{"doubtful", c.doubtful, l.doubtful},
		{"not paired or wrongly", c.bad["not paired"] + c.bad["PAIRED WRONGLY"], l.pairs},
		{"messages not done", c.bad["message: not done"] + c.bad["message: missing"], l.messages},
	} {
		if x.got > x.max {
			t.Errorf("%s: %d, at most %d are expected", x.what, x.got, x.max)
		}
	}
	if l.pairs == 0 && (c.bad["again=true, truth false"] > 0 || c.bad["again=false, truth true"] > 0) {
		t.Error("Packet.Again is wrong")
	}
}

// The causes of retransmissions, and what else the Analyzer says of flows and messages, agree with
// the truth. Each variant runs with many seeds.
func TestCauses(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			var sum tally
			for seed := range uint64(seeds()) {
				c := v.config
				c.Seed, c.Conns = seed+1, 8
				r := gobackn.Run(c)
				if !r.Idle {
					t.Fatal("does not end")
				}
				sum.add(&run(r, newShow(t)).tally)
			}
			v.limits.check(t, &sum)
		})
	}
}

var variants = []struct {
	name   string
	config gobackn.Config
	limits limits
}{
	{"lossless", gobackn.Config{BothWays: true}, limits{}},
	{"rxe", gobackn.Config{Device: gobackn.Rxe, Before: loss(0.01), Behind: loss(0.01)}, limits{}},
	{"nic", gobackn.Config{Device: gobackn.NIC, Before: loss(0.01), Behind: loss(0.01)}, limits{}},
	{"both ways", gobackn.Config{BothWays: true, Device: gobackn.NIC, Before: loss(0.01), Behind: loss(0.01)},
		limits{}},
	{"rxe, heavy loss", gobackn.Config{Device: gobackn.Rxe, Before: loss(0.05), Behind: loss(0.05)},
		limits{doubtful: 1}},
	{"nic, heavy loss", gobackn.Config{Device: gobackn.NIC, Before: loss(0.05), Behind: loss(0.05)},
		limits{doubtful: 2}},
	{"whole READs", gobackn.Config{Device: gobackn.Device{WholeRead: true}, Before: loss(0.01), Behind: loss(0.01)},
		limits{}},
	{"no READs", gobackn.Config{Device: gobackn.NIC, Before: loss(0.02), Behind: loss(0.02),
		Verbs: gobackn.Verbs{Send: 1, Write: 1}}, limits{}},
	{"rxe, RNR", gobackn.Config{Device: gobackn.Rxe, NotReady: 0.1}, limits{}},
	{"nic, RNR", gobackn.Config{Device: gobackn.NIC, NotReady: 0.1}, limits{}},
	{"rxe, RNR and loss", gobackn.Config{Device: gobackn.Rxe, NotReady: 0.1, Before: loss(0.01), Behind: loss(0.01)},
		limits{}},
	{"nic, RNR and loss", gobackn.Config{Device: gobackn.NIC, NotReady: 0.1, Before: loss(0.01), Behind: loss(0.01)},
		limits{doubtful: 1}},
	{"few acknowledgements", gobackn.Config{Device: gobackn.NIC, AckEvery: 8, Depth: 16, Think: 5000,
		Before: loss(0.01), Behind: loss(0.01)},
		limits{messages: 13}},
	{"early timeouts", gobackn.Config{Device: gobackn.NIC, Timeout: 3, Jitter: 0.5,
		Before: loss(0.01), Behind: loss(0.01)},
		limits{undecided: 2, doubtful: 9}},
	{"ECN", gobackn.Config{Before: gobackn.Segment{CE: 0.02}, Behind: gobackn.Segment{CE: 0.02}}, limits{}},
	{"copies before", gobackn.Config{Device: gobackn.NIC, Before: gobackn.Segment{Duplicate: 0.01}}, limits{}},
	{"copies behind", gobackn.Config{Device: gobackn.NIC, Behind: gobackn.Segment{Duplicate: 0.01}}, limits{}},
	{"reordered before", gobackn.Config{Device: gobackn.NIC, Before: gobackn.Segment{Reorder: 0.01}}, limits{}},
	{"reordered behind", gobackn.Config{Device: gobackn.NIC, Behind: gobackn.Segment{Reorder: 0.01}}, limits{}},
	{"everything", gobackn.Config{Device: gobackn.NIC, BothWays: true, NotReady: 0.02,
		Before: gobackn.Segment{Loss: 0.01, Reorder: 0.005, Duplicate: 0.005, CE: 0.01, Jitter: 2000},
		Behind: gobackn.Segment{Loss: 0.01, Reorder: 0.005, Duplicate: 0.005, CE: 0.01, Jitter: 2000}},
		limits{undecided: 2}},
	{"missed packets", gobackn.Config{Device: gobackn.NIC, Missed: 0.005, Before: loss(0.01),
		Behind: loss(0.01)},
		limits{doubtful: 1, messages: 40}},
	{"from the middle", gobackn.Config{Device: gobackn.NIC, Start: 200_000,
		Before: loss(0.01), Behind: loss(0.01)},
		limits{}},
	{"NCCL, from the middle", gobackn.Config{Device: gobackn.NIC, Start: 200_000, ZeroPSN: true,
		Ports: gobackn.SamePorts, BothWays: true, Before: loss(0.01), Behind: loss(0.01)},
		limits{doubtful: 1, messages: 40}},
	{"NCCL", gobackn.Config{Device: gobackn.NIC, ZeroPSN: true, Ports: gobackn.SamePorts, BothWays: true,
		Before: loss(0.01), Behind: loss(0.01)},
		limits{messages: 15}},
	{"own ports", gobackn.Config{Device: gobackn.Rxe, Ports: gobackn.OwnPorts, BothWays: true,
		Before: loss(0.01), Behind: loss(0.01)},
		limits{}},
}

func loss(p float64) gobackn.Segment { return gobackn.Segment{Loss: p} }

// The number of connections changes which directions can be told apart.
func TestCausesOfManyConnections(t *testing.T) {
	for _, size := range []struct {
		conns, hosts, messages int
		limits                 []limits // by variant
	}{
		{64, 2, 40, []limits{{}, {}, {}, {}}},
		{200, 2, 20, []limits{{}, {}, {messages: 160}, {}}},
		{1000, 2, 8, []limits{{}, {doubtful: 1},
			{wrong: 1, doubtful: 4, pairs: 12, messages: 500}, {}}},
		{5000, 16, 3, []limits{{messages: 2}, {}, {undecided: 1, pairs: 16, messages: 100}, {}}},
	} {
		for i, v := range sizeVariants {
			if size.conns >= 1000 && (i != 1 || race.Enabled) && !*long {
				continue
			}
			t.Run(fmt.Sprintf("%d connections, %s", size.conns, v.name), func(t *testing.T) {
				c := v.config
				c.Seed, c.Conns, c.Hosts, c.Messages = 1, size.conns, size.hosts, size.messages
				c.Think = time.Duration(size.conns/size.hosts) * 2 * time.Microsecond
				c.Timeout = 12
				r := gobackn.Run(c)
				if !r.Idle {
					t.Fatal("does not end")
				}
				size.limits[i].check(t, &run(r, newShow(t)).tally)
			})
		}
	}
}

var sizeVariants = []struct {
	name   string
	config gobackn.Config
}{
	{"rxe", gobackn.Config{Device: gobackn.Rxe, Ports: gobackn.OwnPorts, NotReady: 0.01, Before: loss(0.005),
		Behind: loss(0.005)}},
	{"nic", gobackn.Config{Device: gobackn.NIC, BothWays: true, NotReady: 0.01, Before: loss(0.005),
		Behind: loss(0.005)}},
	{"NCCL", gobackn.Config{Device: gobackn.NIC, ZeroPSN: true, Ports: gobackn.SamePorts, BothWays: true,
		Before: loss(0.005), Behind: loss(0.005)}},
	{"NCCL, derived ports", gobackn.Config{Device: gobackn.NIC, ZeroPSN: true, BothWays: true,
		Before: loss(0.005), Behind: loss(0.005)}},
}
