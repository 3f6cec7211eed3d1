package verbs_test

import (
	"fmt"
	"net/netip"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// A running program can be inspected at any time.
func ExampleDevice_QPs() {
	link, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	check(err)
	dev := must(verbs.Open(verbs.Config{Links: []packet.Link{link}}))
	defer dev.Close()
	cq := must(dev.CreateCQ(16))
	must(dev.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: cq}))

	for q := range dev.QPs() {
		fmt.Printf("queue pair %d: %v in %v, %d of %d sends queued\n", q.Number, q.Type, q.State,
			q.SendQueue, q.SendDepth)
	}
	// Output:
	// queue pair 1: RC in RESET, 0 of 128 sends queued
}

// A device with Peers drops the packets of all other hosts.
func ExampleDevice_Admits() {
	link, err := pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500)
	check(err)
	dev := must(verbs.Open(verbs.Config{Links: []packet.Link{link},
		Peers: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}))
	defer dev.Close()

	for _, peer := range []string{"192.0.2.7", "198.51.100.7"} {
		fmt.Println(peer, dev.Admits(netip.MustParseAddr(peer)))
	}
	// Output:
	// 192.0.2.7 true
	// 198.51.100.7 false
}
