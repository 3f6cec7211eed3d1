package gobackn_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace/internal/gobackn"
)

func TestCauses(t *testing.T) {
	for _, v := range variants {
		t.Run(v.name, func(t *testing.T) {
			var sum tally
			for seed := range uint64(20) {
				c := v.config
				c.Seed = seed + 1
				c.Conns = 8
				r := gobackn.Run(c)
				if !r.Idle {
					t.Fatal("does not end")
				}
				j := run(r, newShow(t))
				sum.add(&j.tally)
			}
			t.Log(sum.String())
		})
	}
}

var variants = []struct {
	name   string
	config gobackn.Config
}{
	{"lossless", gobackn.Config{BothWays: true}},
	{"rxe", gobackn.Config{Device: gobackn.Rxe, Before: loss(0.01), Behind: loss(0.01)}},
	{"nic", gobackn.Config{Device: gobackn.NIC, Before: loss(0.01), Behind: loss(0.01)}},
	{"both ways", gobackn.Config{BothWays: true, Device: gobackn.NIC, Before: loss(0.01), Behind: loss(0.01)}},
	{"rxe, heavy loss", gobackn.Config{Device: gobackn.Rxe, Before: loss(0.05), Behind: loss(0.05)}},
	{"nic, heavy loss", gobackn.Config{Device: gobackn.NIC, Before: loss(0.05), Behind: loss(0.05)}},
	{"whole READs", gobackn.Config{Device: gobackn.Device{WholeRead: true}, Before: loss(0.01), Behind: loss(0.01)}},
	{"no READs", gobackn.Config{Device: gobackn.NIC, Before: loss(0.02), Behind: loss(0.02),
		Verbs: gobackn.Verbs{Send: 1, Write: 1}}},
	{"rxe, RNR", gobackn.Config{Device: gobackn.Rxe, NotReady: 0.1}},
	{"nic, RNR", gobackn.Config{Device: gobackn.NIC, NotReady: 0.1}},
	{"rxe, RNR and loss", gobackn.Config{Device: gobackn.Rxe, NotReady: 0.1, Before: loss(0.01), Behind: loss(0.01)}},
	{"nic, RNR and loss", gobackn.Config{Device: gobackn.NIC, NotReady: 0.1, Before: loss(0.01), Behind: loss(0.01)}},
	{"few acknowledgements", gobackn.Config{Device: gobackn.NIC, AckEvery: 8, Depth: 16, Think: 5000,
		Before: loss(0.01), Behind: loss(0.01)}},
	{"early timeouts", gobackn.Config{Device: gobackn.NIC, Timeout: 3, Jitter: 0.5,
		Before: loss(0.01), Behind: loss(0.01)}},
	{"ECN", gobackn.Config{Before: gobackn.Segment{CE: 0.02}, Behind: gobackn.Segment{CE: 0.02}}},
	{"copies before", gobackn.Config{Device: gobackn.NIC, Before: gobackn.Segment{Duplicate: 0.01}}},
	{"copies behind", gobackn.Config{Device: gobackn.NIC, Behind: gobackn.Segment{Duplicate: 0.01}}},
	{"reordered before", gobackn.Config{Device: gobackn.NIC, Before: gobackn.Segment{Reorder: 0.01}}},
	{"reordered behind", gobackn.Config{Device: gobackn.NIC, Behind: gobackn.Segment{Reorder: 0.01}}},
	{"everything", gobackn.Config{Device: gobackn.NIC, BothWays: true, NotReady: 0.02,
		Before: gobackn.Segment{Loss: 0.01, Reorder: 0.005, Duplicate: 0.005, CE: 0.01, Jitter: 2000},
		Behind: gobackn.Segment{Loss: 0.01, Reorder: 0.005, Duplicate: 0.005, CE: 0.01, Jitter: 2000}}},
	{"missed packets", gobackn.Config{Device: gobackn.NIC, Missed: 0.005, Before: loss(0.01),
		Behind: loss(0.01)}},
	{"from the middle", gobackn.Config{Device: gobackn.NIC, Start: 200_000,
		Before: loss(0.01), Behind: loss(0.01)}},
	{"NCCL, from the middle", gobackn.Config{Device: gobackn.NIC, Start: 200_000, ZeroPSN: true,
		Ports: gobackn.SamePorts, BothWays: true, Before: loss(0.01), Behind: loss(0.01)}},
	{"NCCL", gobackn.Config{Device: gobackn.NIC, ZeroPSN: true, Ports: gobackn.SamePorts, BothWays: true,
		Before: loss(0.01), Behind: loss(0.01)}},
	{"own ports", gobackn.Config{Device: gobackn.Rxe, Ports: gobackn.OwnPorts, BothWays: true,
		Before: loss(0.01), Behind: loss(0.01)}},
}

func loss(p float64) gobackn.Segment { return gobackn.Segment{Loss: p} }

// The number of connections changes which directions can be told apart.
func TestCausesOfManyConnections(t *testing.T) {
	for _, size := range []struct{ conns, hosts, messages int }{
		{64, 2, 40}, {200, 2, 20}, {1000, 2, 8}, {5000, 16, 3},
	} {
		for _, v := range sizeVariants {
			t.Run(fmt.Sprintf("%d connections, %s", size.conns, v.name), func(t *testing.T) {
				c := v.config
				c.Seed, c.Conns, c.Hosts, c.Messages = 1, size.conns, size.hosts, size.messages
				c.Think = time.Duration(size.conns/size.hosts) * 2 * time.Microsecond
				c.Timeout = 12
				begin := time.Now()
				r := gobackn.Run(c)
				if !r.Idle {
					t.Fatal("does not end")
				}
				simulated := time.Since(begin)
				j := run(r, newShow(t))
				t.Log(simulated, time.Since(begin))
				t.Log(j.tally.String())
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
	{"nic", gobackn.Config{Device: gobackn.NIC, BothWays: true, NotReady: 0.01, Before: loss(0.005), Behind: loss(0.005)}},
	{"NCCL", gobackn.Config{Device: gobackn.NIC, ZeroPSN: true, Ports: gobackn.SamePorts, BothWays: true,
		Before: loss(0.005), Behind: loss(0.005)}},
	{"NCCL, derived ports", gobackn.Config{Device: gobackn.NIC, ZeroPSN: true, BothWays: true,
		Before: loss(0.005), Behind: loss(0.005)}},
}
