package rdmacore_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

var rdmaCoreCQ = map[string]func(*testing.T){
	"test_create_cq":          createCQs,
	"test_create_cq_bad_flow": refuseCQs,
	"test_create_cq_with_comp_channel": func(t *testing.T) {
		d := verbstest.OpenPipe(t, 1500, "192.0.2.1")
		ch := d.CreateCompChannel()
		createCQsOn(t, d, verbs.OnChannel(ch))
		if err := ch.Close(); err != nil {
			t.Errorf("closing the channel: %v", err)
		}
	},
	"test_resize_cq": func(t *testing.T) {
		client, _ := newPlayers(t, playerOptions{service: verbs.UD, cqDepth: 3})
		for _, depth := range []int{1, 7} {
			if err := client.cq.Resize(depth); err != nil || client.cq.Depth() < depth {
				t.Fatalf("the depth is %d after a resize to %d: %v", client.cq.Depth(), depth, err)
			}
		}
		for range 6 {
			client.Post(verbs.WRSend, nil)
		}
		var got [8]verbs.WC
		if err := client.cq.Resize(1); err == nil {
			t.Error("six completions fit a queue of one")
		}
		if n := client.cq.Poll(got[:]); n != 6 {
			t.Errorf("%d completions, want 6", n)
		}
	},
}

// Tests that wait for completions on a completion channel.
var rdmaCoreCQEvents = map[string]func(*testing.T){
	"test_cq_events_rc": sendTraffic(playerOptions{channel: true}, verbs.WRSend),
	"test_cq_events_ud": sendTraffic(playerOptions{service: verbs.UD, channel: true}, verbs.WRSend),
}

// There is one kind of completion queue, and its completions have all fields.
var rdmaCoreCQEx = map[string]func(*testing.T){
	"test_ud_traffic_cq_ex":      sendTraffic(playerOptions{service: verbs.UD}, verbs.WRSend),
	"test_rc_traffic_cq_ex":      sendTraffic(playerOptions{}, verbs.WRSend),
	"test_create_cq_ex":          createCQs,
	"test_create_cq_ex_bad_flow": refuseCQs,
}

func createCQs(t *testing.T) { createCQsOn(t, verbstest.OpenPipe(t, 1500, "192.0.2.1")) }

func createCQsOn(t *testing.T, d *verbs.Device, opts ...verbs.CQOption) {
	t.Helper()
	most := d.Attr().MaxCQE
	for _, depth := range []int{1, most / 2, most} {
		cq, err := d.CreateCQ(depth, opts...)
		if err != nil {
			t.Fatalf("CreateCQ(%d): %v", depth, err)
		}
		if err := cq.Close(); err != nil {
			t.Errorf("closing the CQ of depth %d: %v", depth, err)
		}
	}
}

func refuseCQs(t *testing.T) {
	d := verbstest.OpenPipe(t, 1500, "192.0.2.1")
	_, err := d.CreateCQ(d.Attr().MaxCQE + 1)
	verbstest.MustMention(t, err, "depth", "1 to")
}
