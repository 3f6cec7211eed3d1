package gsi

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/nic"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
)

var (
	addrA = netip.MustParseAddr("192.0.2.1")
	addrB = netip.MustParseAddr("192.0.2.2")
)

func openLink(t *testing.T, n *pipe.Net, addr netip.Addr) packet.Link {
	t.Helper()
	l, err := n.Open(addr, 9000)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// peerAndDevice are the links of a peer and a device, at addrB and addrA of one network.
func peerAndDevice(t *testing.T) (packet.Link, *nic.Device) {
	t.Helper()
	n := pipe.NewNet()
	d, err := nic.Open(nic.Config{Links: []packet.Link{openLink(t, n, addrA)}, MaxQP: 4, MaxMR: 4, MaxCQ: 4})
	if err != nil {
		t.Fatal(err)
	}
	return openLink(t, n, addrB), d
}

// While the program does not take its events, messages of a peer are not queued without limit.
func TestEventsThatNobodyTakesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link, d := peerAndDevice(t)
		defer link.Close()
		var took uint64 // by the event goroutine until Wait says that it is idle
		taken := make(chan struct{})
		g, err := Open(d, cm.Config{}, func(*cm.Event) {
			<-taken
			took++
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}()
		err = g.Do(func(_ cm.Time, m *cm.Manager) error {
			_, err := m.Listen(mad.IPServiceID(mad.PortSpaceTCP, 7), cm.AnyGID, 8)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		peer := rawcm.New(link, addrA)
		const asked = 2 * maxEvents
		for i := range uint32(asked) {
			req := peer.REQ(i+1, 7)
			for _, m := range []*mad.Message{req, rawcm.TimeoutREJ(req)} {
				if err := peer.Put(m); err != nil {
					t.Fatal(err)
				}
			}
			if i%32 == 31 {
				if err := peer.Flush(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(64 * gsiReads().Interval)
				synctest.Wait()
			}
		}
		waiting := 0
		_ = g.Do(func(_ cm.Time, m *cm.Manager) error {
			waiting = m.Events()
			return nil
		})
		// One batch of completions may be on its way to the manager.
		if waiting < maxEvents || waiting > maxEvents+64 {
			t.Errorf("%d events wait, the bound is %d", waiting, maxEvents)
		}
		close(taken)
		synctest.Wait()
		count := map[string]uint64{}
		d.Counters(func(name string, v uint64) { count[name] = v })
		g.Counters(func(name string, v uint64) { count[name] = v })
		heard := count["cm_rx_msgs_req"] + count["cm_rx_msgs_rej"]
		if lost := count["drop_gsi_share"]; lost == 0 || heard+lost != 2*asked {
			t.Errorf("of %d messages %d were heard and %d dropped", 2*asked, heard, lost)
		}
		if took != heard {
			t.Errorf("the program has %d events of %d messages", took, heard)
		}
	})
}

// A flood of messages uses only a part of the processor.
func TestQueuePair1IsReadAtARate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		link, d := peerAndDevice(t)
		defer link.Close()
		defer d.Close()
		g, err := Open(d, cm.Config{}, func(*cm.Event) {})
		if err != nil {
			t.Fatal(err)
		}
		peer := rawcm.New(link, addrA)
		rate, read := gsiReads(), uint64(0)
		heard := func() (n uint64) {
			g.Counters(func(name string, v uint64) {
				if name == "cm_rx_msgs_req" {
					n = v
				}
			})
			return n
		}
		// Half of the receives are for a sender that is alone: they are reposted as they are
		// read.
		for i := range uint32(8 * rate.Burst) {
			if err := peer.Put(peer.REQ(i+1, 7)); err != nil {
				t.Fatal(err)
			}
			if i%32 == 31 {
				if err := peer.Flush(); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		if read = heard(); read < uint64(rate.Burst) || read > uint64(rate.Burst)+gsiBatch {
			t.Errorf("%d messages are read at once, the burst is %d", read, rate.Burst)
		}
		time.Sleep(100 * rate.Interval)
		synctest.Wait()
		if more := heard() - read; more < 100-gsiBatch || more > 100+gsiBatch {
			t.Errorf("%d messages are read in the time of 100", more)
		}
	})
}
