package daemon

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
)

// A rejection goes to the source address of the request, which may be forged.
func TestOnlySoManyClientsAreToldThatThereIsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, host := newRpingClients(), netip.MustParseAddr("192.0.2.66")
		told := func(requests int) (n int) {
			for range requests {
				place, answered := p.enter(host, func() {})
				if place != nil {
					t.Fatal("there is a place")
				}
				if answered {
					n++
				}
			}
			return n
		}
		var all []*quota.Client
		for range maxRpingClientsOfHost {
			place, _ := p.enter(host, func() {})
			if place == nil {
				t.Fatal("there is no place")
			}
			all = append(all, place)
		}
		if n := told(20); n != 0 {
			t.Errorf("%d are told while others may not go on", n)
		}
		for _, place := range all {
			if !p.connected(place) {
				t.Fatal("a place is lost")
			}
		}
		rate := quota.Answers()
		if n := told(rate.Burst + 20); n != rate.Burst {
			t.Errorf("%d are told at once, want %d", n, rate.Burst)
		}
		time.Sleep(5 * rate.Interval)
		if n := told(20); n != 5 {
			t.Errorf("%d are told in 5 times %v, want 5", n, rate.Interval)
		}
	})
}
