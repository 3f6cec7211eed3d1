package daemon

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/region"
)

var regionsAt = netip.MustParseAddrPort("192.0.2.1:7175")

// described returns the regions in the daemon's status.
func (r *rig) described() []control.Region {
	r.t.Helper()
	var s control.Status
	if err := r.client().Get(r.t.Context(), "/v1/status", nil, &s); err != nil {
		r.t.Fatal(err)
	}
	return s.Regions
}

func TestADaemonExportsItsRegionsUntilItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(`
			service.region.max_per_peer = 2
			[[device]]
			interface = "eth0"
			[[device]]
			interface = "eth1"
			[[region]]
			name = "scratch"
			size = "1MiB"
			access = ["read", "write"]
			[[region]]
			name = "ours"
			size = 8
			peers = ["192.0.2.7"]`)
		<-r.told
		friend, _ := r.host("192.0.2.7")
		defer friend.Close()
		other, _ := r.host("192.0.2.8")
		defer other.Close()
		c, err := region.Dial(t.Context(), other, regionsAt, "scratch")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write(t.Context(), strings.NewReader("hello"), 1<<20-5); err != nil {
			t.Fatal(err)
		}
		// The memory is the same through every device.
		d, err := region.Dial(t.Context(), friend, netip.MustParseAddrPort("198.51.100.1:7175"), "scratch")
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		var got bytes.Buffer
		if err := d.Read(t.Context(), &got, 1<<20-6, 6); err != nil || got.String() != "\x00hello" {
			t.Errorf("%q, %v", &got, err)
		}
		if _, err := region.Dial(t.Context(), other, regionsAt, "ours"); !errors.Is(err, region.ErrNoRegion) {
			t.Errorf("a host that is not on the list: %v", err)
		}
		synctest.Wait()
		var told []string
		for _, i := range r.described() {
			told = append(told, fmt.Sprintln(i.Device, i.Name, i.Kind, i.Path, i.Length, i.Access, i.Peers,
				i.Connections, i.Error))
		}
		want := []string{
			"eth0 ours anonymous  8 [read] [192.0.2.7/32] 0 \n", "eth0 scratch anonymous  1048576 [read write] [] 1 \n",
			"eth1 ours anonymous  8 [read] [192.0.2.7/32] 0 \n", "eth1 scratch anonymous  1048576 [read write] [] 1 \n",
		}
		if !slices.Equal(told, want) {
			t.Errorf("status:\n%q\nwant\n%q", told, want)
		}
		second, err := region.Dial(t.Context(), other, regionsAt, "scratch")
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		synctest.Wait() // the daemon has received the client's RTU
		if _, err := region.Dial(t.Context(), other, regionsAt, "scratch"); !errors.Is(err, region.ErrBusy) {
			t.Errorf("a third connection of one host: %v", err)
		}
		var stats struct{ Stats []control.Stats }
		if err := r.client().Get(t.Context(), "/v1/stats", nil, &stats); err != nil {
			t.Fatal(err)
		}
		if n := stats.Stats[0].Counters; n["region_accepted"] != 2 || n["region_refused_not_allowed"] != 1 ||
			n["region_refused_busy_peer"] != 1 {
			t.Errorf("counters: %v", n)
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		if err := c.Read(t.Context(), io.Discard, 0, 1); !errors.Is(err, region.ErrEnded) {
			t.Errorf("after the end: %v", err)
		}
		if !strings.Contains(r.log.String(), "region=scratch kind=anonymous length=1048576 access=read,write") ||
			strings.Contains(r.log.String(), "not all") {
			t.Errorf("the log:\n%s", &r.log)
		}
	})
}

func TestADaemonWithoutRegionsHasNoPortForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("")
		<-r.told
		d, _ := r.host("192.0.2.7")
		defer d.Close()
		if _, err := region.List(t.Context(), d, regionsAt); err == nil ||
			!strings.Contains(err.Error(), "no listener") {
			t.Error(err)
		}
		if got := r.described(); got == nil || len(got) != 0 {
			t.Errorf("%v", got)
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
	})
}

func TestThePortOfRegionsIsTheirOwn(t *testing.T) {
	_, err := planOf(t, "service.region.port = 7174\n[[region]]\nname = \"a\"\nsize = 8")
	if err == nil || err.Error() != "g.toml:1: service region: port 7174 is that of the service rping: give another" {
		t.Error(err)
	}
}
