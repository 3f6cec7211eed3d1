package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/internal/serve/rping"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// host returns another host on the rig's network. kill ends it without notice.
func (r *rig) host(addr string) (d *verbs.Device, kill func()) {
	r.t.Helper()
	l, err := r.pipes.Open(netip.MustParseAddr(addr), 1500)
	if err != nil {
		r.t.Fatal(err)
	}
	if d, err = verbs.Open(verbs.Config{Links: []packet.Link{l}}); err != nil {
		r.t.Fatal(err)
	}
	return d, func() {
		if err := l.Close(); err != nil {
			r.t.Error(err)
		}
		if err := d.Close(); err != nil {
			r.t.Error(err)
		}
	}
}

var pingsAt = netip.MustParseAddrPort("192.0.2.1:7174")

func TestADaemonAnswersPingsAndTellsItsClientsWhenItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("")
		<-r.told
		clients, lasts := 20, time.Second
		if race.Enabled {
			clients, lasts = 10, 300*time.Millisecond
		}
		ended := make(chan error, clients)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range clients {
			d, _ := r.host(fmt.Sprintf("192.0.2.%d", 10+i))
			defer d.Close()
			go func() {
				c := rping.Client{PD: d.AllocPD(), Size: 4000, Count: 50, Validate: true}
				if err := c.Run(ctx, pingsAt); err != nil {
					t.Error(err)
				}
				// Unlimited, until the daemon stops.
				c.Count, c.Ping = 0, func([]byte) { time.Sleep(time.Millisecond) }
				ended <- c.Run(ctx, pingsAt)
			}()
		}
		time.Sleep(lasts)
		r.stop()
		for range clients {
			if err := <-ended; err == nil {
				t.Error("a client without end ended well")
			}
		}
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		<-r.told
	})
}

// Requests with the address of a host that never sent them take its places, and yield them to its
// own requests.
func TestForgedRequestsUnderAnAddressDoNotKeepItsOwnerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("")
		<-r.told
		const victim = "192.0.2.66"
		link, err := r.pipes.Open(netip.MustParseAddr(victim), 1500)
		if err != nil {
			t.Fatal(err)
		}
		attacker := rawcm.New(link, pingsAt.Addr())
		for i := range uint32(maxRpingClientsOfHost + 1) {
			m := attacker.REQ(i+1, pingsAt.Port())
			m.REQ.MaxCMRetries, m.REQ.LocalCMResponseTimeout = 15, 31
			if err := errors.Join(attacker.Put(m), attacker.Flush()); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if n := r.opened[0].Counters()["cm_rx_msgs_req"]; n != maxRpingClientsOfHost+1 {
			t.Fatalf("%d requests have come", n)
		}
		if err := link.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(quota.Grace)
		d, _ := r.host(victim)
		defer d.Close()
		for range 3 {
			c := rping.Client{PD: d.AllocPD(), Count: 3, Validate: true}
			if err := c.Run(t.Context(), pingsAt); err != nil {
				t.Error(err)
			}
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		<-r.told
	})
}

// bubbled returns the number of goroutines of tests in bubbles, of which one runs at a time; the
// runtime's own goroutines vary.
func bubbled() int {
	all := make([]byte, 1<<20)
	return bytes.Count(all[:runtime.Stack(all, true)], []byte("synctest bubble"))
}

func TestClientsThatAreKilledLeaveNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("")
		<-r.told
		synctest.Wait()
		before := bubbled()
		const atATime = 50
		deaths := 1000
		if race.Enabled {
			deaths = 250
		}
		for i := range deaths / atATime {
			var kills []func()
			for k := range atATime {
				d, kill := r.host(fmt.Sprintf("198.18.%d.%d", i, k+1))
				kills = append(kills, kill)
				ctx := t.Context()
				pinged := make(chan struct{})
				go func() {
					n := 0
					c := rping.Client{PD: d.AllocPD(), Ping: func([]byte) {
						if n++; n == 2 {
							close(pinged)
						}
						time.Sleep(time.Millisecond)
					}}
					// It ends with some error, because its device is closed.
					_ = c.Run(ctx, pingsAt)
				}()
				<-pinged
			}
			for _, kill := range kills {
				kill()
			}
			// Twice the interval in which silent peers are checked, and the retries: there are at
			// most as many places as clients of some rounds.
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		dev := r.opened[0]
		if n := len(slices.Collect(dev.QPs())); n != 1 {
			t.Errorf("%d queue pairs besides that of the connection manager are left", n-1)
		}
		if n := len(slices.Collect(dev.MRs())); n != 1 {
			t.Errorf("%d regions are left", n-1)
		}
		if n := len(slices.Collect(dev.CQs())); n != 1 {
			t.Errorf("%d completion queues are left", n-1)
		}
		if n := len(slices.Collect(dev.CMs())); n != 0 {
			t.Errorf("%d connections are left", n)
		}
		if n := bubbled(); n != before {
			t.Errorf("%d goroutines, there were %d before the first client", n, before)
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		<-r.told
	})
}
