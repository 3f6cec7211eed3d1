package gobackn_test

import (
	"testing"

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
	{"lossless", gobackn.Config{}},
	{"rxe", gobackn.Config{Device: gobackn.Rxe, Before: gobackn.Segment{Loss: 0.01}, Behind: gobackn.Segment{Loss: 0.01}}},
	{"nic", gobackn.Config{Device: gobackn.NIC, Before: gobackn.Segment{Loss: 0.01}, Behind: gobackn.Segment{Loss: 0.01}}},
}
