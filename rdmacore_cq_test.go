package gorxe_test

import (
	"testing"

	"github.com/gorxe/gorxe"
)

var rdmaCoreCQ = map[string]func(*testing.T){
	"test_create_cq":          createCQs,
	"test_create_cq_bad_flow": refuseCQs,
}

// There is one form of completion queue, and its completions have all fields.
var rdmaCoreCQEx = map[string]func(*testing.T){
	"test_rc_traffic_cq_ex":      sendTraffic(playerOptions{}, gorxe.WRSend),
	"test_create_cq_ex":          createCQs,
	"test_create_cq_ex_bad_flow": refuseCQs,
}

func createCQs(t *testing.T) {
	d := openPipe(t, 1500, "192.0.2.1")
	most := d.Attr().MaxCQE
	for _, depth := range []int{1, most / 2, most} {
		cq, err := d.CreateCQ(depth)
		if err != nil {
			t.Fatalf("CreateCQ(%d): %v", depth, err)
		}
		if err := cq.Close(); err != nil {
			t.Errorf("closing the CQ of depth %d: %v", depth, err)
		}
	}
}

func refuseCQs(t *testing.T) {
	d := openPipe(t, 1500, "192.0.2.1")
	_, err := d.CreateCQ(d.Attr().MaxCQE + 1)
	says(t, err, "depth", "1 to")
}
