package daemon

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/serve/rping"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/verbs"
)

// Loopback addresses that tests of no other package use.
var floodAddrs = [3]netip.Addr{netip.MustParseAddr("127.83.4.1"), netip.MustParseAddr("127.83.4.2"),
	netip.MustParseAddr("127.83.4.3")}

// flooded is a daemon on UDP sockets, an honest host, and a hostile peer.
type flooded struct {
	t      testing.TB
	rig    *rig
	dev    *verbs.Device // of the daemon
	honest *verbs.Device
	pings  rping.Client
	link   packet.Link // of the peer
	peer   *rawcm.Peer
	next   uint32 // index of the next message of the flood
	idle   int    // goroutines when nothing is in progress, including those of the test
}

func newFlooded(t testing.TB) *flooded {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("the UDP link needs Linux")
	}
	r := newRig(t)
	r.opts.Open = func(c verbs.Config) (*verbs.Device, error) {
		c.Device, c.Follow = floodAddrs[0].String(), false
		d, err := verbs.Open(c)
		if err == nil {
			r.opened = append(r.opened, d)
		}
		return d, err
	}
	r.start("")
	select {
	case <-r.told:
	case err := <-r.end:
		t.Fatal(err)
	}
	f := &flooded{t: t, rig: r, dev: r.opened[0]}
	var err error
	if f.honest, err = verbs.Open(verbs.Config{Device: floodAddrs[1].String()}); err != nil {
		t.Fatal(err)
	}
	if f.link, err = socket.ListenUDP(floodAddrs[2], socket.UDPOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(f.honest.Close(), f.link.Close()); err != nil {
			t.Error(err)
		}
		r.stop()
		if err := <-r.end; err != nil {
			t.Error(err)
		}
		<-r.told
	})
	f.peer = rawcm.New(f.link, floodAddrs[0])
	f.pings = rping.Client{PD: f.honest.AllocPD(), Size: 4000, Count: 5, Validate: true}
	return f
}

// ping connects, pings and disconnects.
func (f *flooded) ping() {
	f.t.Helper()
	if err := f.pings.Run(f.t.Context(), netip.AddrPortFrom(floodAddrs[0], rping.Port)); err != nil {
		f.t.Fatal(err)
	}
}

// flood sends n messages: different REQs, and up to one in eight each of repeated REQs and of
// invalid messages.
func (f *flooded) flood(n uint32) error {
	random := rand.New(rand.NewPCG(1, 2))
	garbage := make([]byte, mad.Len)
	for range n {
		i := f.next
		f.next++
		var err error
		switch i % 8 {
		case 3:
			err = f.peer.Put(f.peer.REQ(1+i-random.Uint32N(min(1+i, 100)), rping.Port))
		case 7:
			for k := range garbage {
				garbage[k] = byte(random.Uint32())
			}
			err = f.peer.PutBytes(garbage[:random.IntN(mad.Len+1)])
		default:
			err = f.peer.Put(f.peer.REQ(1+i, rping.Port))
		}
		if err != nil {
			return err
		}
	}
	return f.peer.Flush()
}

// has counts the objects of a device at a moment.
type has struct{ qps, cqs, mrs, goroutines int }

func (f *flooded) has() has {
	return has{
		len(slices.Collect(f.dev.QPs())), len(slices.Collect(f.dev.CQs())), len(slices.Collect(f.dev.MRs())),
		runtime.NumGoroutine(),
	}
}

// settled pings until the daemon has no more objects than at first, and returns their numbers.
func (f *flooded) settled(first has) has {
	for {
		f.ping()
		if h := f.has(); h.qps <= first.qps && h.cqs <= first.cqs && h.mrs <= first.mrs &&
			h.goroutines <= first.goroutines && f.halfOpen() == 0 {
			return h
		}
	}
}

func (f *flooded) halfOpen() (n int) {
	for c := range f.dev.CMs() {
		if c.State == "REQ_RCVD" || c.State == "REP_SENT" {
			n++
		}
	}
	return n
}

func liveHeap() int64 {
	for range 3 {
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// sum returns the sum of the counters whose names start with a prefix.
func sum(of map[string]uint64, prefix string) (n uint64) {
	for name, v := range of {
		if strings.HasPrefix(name, prefix) {
			n += v
		}
	}
	return n
}

func TestAFloodOfRequestsKeepsNobodyOutAndLeavesNothing(t *testing.T) {
	f := newFlooded(t)
	messages := uint32(200_000)
	if testing.Short() {
		messages = 20_000
	}
	// The first flood allocates the buffers for it.
	pinged := f.under(messages / 10)
	first := f.settled(has{1, 1, 1, 1 << 20})
	before := liveHeap()
	pinged += f.under(messages)
	f.settled(first)
	grown := liveHeap() - before
	if grown > 1<<20 {
		t.Errorf("the heap grew by %d bytes", grown)
	}
	f.accounted()
	t.Logf("%d connections with pings during %d messages; after them %d bytes of heap more", pinged, messages, grown)
}

// under sends a flood while the honest host pings continuously, at least 10 times. It returns the
// number of pings.
func (f *flooded) under(messages uint32) (pinged int) {
	f.t.Helper()
	f.idle = max(f.idle, runtime.NumGoroutine()+1)
	over := make(chan error, 1)
	go func() { over <- f.flood(messages) }()
	for flooding := true; flooding || pinged < 10; pinged++ {
		f.ping()
		// Objects for both hosts, and those of the connection manager; half-open connections
		// include those that wait for the program, in a backlog of 128 and the additional shares.
		h, half := f.has(), f.halfOpen()
		// A client uses two goroutines.
		if most := 2*maxRpingClientsOfHost + 1; h.goroutines > f.idle+2*most || h.qps > most || h.cqs > most ||
			h.mrs > 3*most || half > most+2*128 {
			f.t.Errorf("while it lasts: %+v, %d half-open", h, half)
		}
		select {
		case err := <-over:
			if flooding = false; err != nil {
				f.t.Fatal(err)
			}
		default:
		}
	}
	return pinged
}

// accounted fails the test unless every packet and every message is in some counter.
func (f *flooded) accounted() {
	f.t.Helper()
	var stats struct{ Stats []control.Stats }
	if err := f.rig.client().Get(f.t.Context(), "/v1/stats", nil, &stats); err != nil {
		f.t.Fatal(err)
	}
	count := stats.Stats[0].Counters
	of := f.honest.Counters()
	sent := f.link.(packet.StatsReporter).Stats().TxFrames + of["tx_packets"] + of["tx_port_probes"]
	// The host counts a dropped train of segments as one.
	if lost, drops := sent-count["rx_packets"], count["link_rx_queue_full"]; lost < drops || drops == 0 && lost > 0 {
		f.t.Errorf("%d packets were sent, %d received, %d dropped by the host", sent, count["rx_packets"], drops)
	}
	if got := sum(count, "drop_") + sum(count, "verdict_"); got != count["rx_packets"] {
		f.t.Errorf("of %d packets %d were dropped or have a verdict", count["rx_packets"], got)
	}
	heard, verdicts := sum(count, "cm_rx_msgs_")+sum(count, "cm_malformed_"), sum(count, "cm_verdict_")
	if heard != verdicts || count["cm_verdict_malformed"] != sum(count, "cm_malformed_") {
		f.t.Errorf("of %d messages %d have a verdict", heard, verdicts)
	}
	taken := count["cm_rx_msgs_req"] - count["cm_rx_duplicates_req"]
	for _, dropped := range []string{"stale", "backlog", "backlog_peer", "half_open", "half_open_peer", "no_listener",
		"not_allowed"} {
		taken -= count["cm_verdict_"+dropped]
	}
	ended := map[string]uint64{}
	for name, v := range count {
		if strings.HasPrefix(name, "rping_") {
			ended[name] = v
		}
	}
	if got := sum(ended, ""); got != taken {
		f.t.Errorf("of %d REQs that the daemon took, %d have ended: %v", taken, got, ended)
	}
	// If the host dropped a client's last acknowledgement, the server does not see a normal end,
	// but that the client has disconnected.
	if ended["rping_refused_busy_peer"] == 0 || ended["rping_not_connected"] == 0 || ended["rping_refused_busy"] > 0 {
		f.t.Errorf("how clients of rping ended: %v", ended)
	}
}
