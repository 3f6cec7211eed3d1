package respond

import (
	"encoding/binary"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/pace"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
)

// repeat sends a key up to n times without waiting for answers, and returns the number of answers
// before the connection ended.
func repeat(c net.Conn, qpn uint32, n int) (answers int) {
	go func() {
		for range n {
			if _, err := c.Write(key(qpn).item); err != nil {
				return
			}
		}
	}()
	answer := make([]byte, perftest.KeyLen)
	for range n {
		if _, err := io.ReadFull(c, answer); err != nil {
			break
		}
		answers++
	}
	return answers
}

func TestAClientThatRepeatsItsKeyWithoutEndIsEnded(t *testing.T) {
	counted, logged := responding(t, Limits{}, both, func(r *rig) {
		c := r.call("192.0.2.2", deviceAddr)
		defer c.Close()
		if _, err := converse(c, opening()...); err != nil {
			r.Fatal(err)
		}
		if n, want := repeat(c, 1, 5000), perftest.MaxItems(1)-len(opening()); n != want {
			r.Errorf("%d keys are answered, want %d", n, want)
		}
	})
	if counted["too_many_items"] != 1 {
		t.Errorf("%v\n%s", counted, logged)
	}
}

// The same holds for reports, each field of which is answered.
func TestAClientThatReportsWithoutEndIsEnded(t *testing.T) {
	counted, logged := responding(t, Limits{}, both, func(r *rig) {
		c := r.call("192.0.2.2", deviceAddr)
		defer c.Close()
		if _, err := converse(c, append(opening(), key(1))...); err != nil {
			r.Fatal(err)
		}
		for range 5000 {
			if _, err := converse(c, say{make([]byte, perftest.FieldLen), perftest.FieldLen}); err != nil {
				return
			}
		}
		r.Error("5000 fields of reports are answered")
	})
	if counted["too_many_items"] != 1 {
		t.Errorf("%v\n%s", counted, logged)
	}
}

// Only new keys are progress: a session without packets ends like a silent one.
func TestRepeatedKeysAreNoProgress(t *testing.T) {
	for _, every := range []time.Duration{100 * time.Millisecond, time.Second, 9 * time.Second} {
		counted, logged := responding(t, Limits{}, both, func(r *rig) {
			c := r.call("192.0.2.2", deviceAddr)
			defer c.Close()
			begun := time.Now()
			_, err := converse(c, append(opening(), key(1), key(1))...)
			for err == nil && time.Since(begun) < 5*time.Minute {
				time.Sleep(every)
				_, err = converse(c, key(1))
			}
			if d := time.Since(begun); d > 10*time.Second+every+time.Second {
				r.Errorf("a key every %v keeps a session for %v", every, d)
			}
		})
		if counted["no_packet"] != 1 {
			t.Errorf("a key every %v: %v\n%s", every, counted, logged)
		}
	}
}

// Nor do new keys without packets keep a session alive for long.
func TestTheFirstPacketIsWaitedForHowEverManyKeysCome(t *testing.T) {
	counted, logged := responding(t, Limits{}, both, func(r *rig) {
		c := r.call("192.0.2.2", deviceAddr)
		defer c.Close()
		begun := time.Now()
		_, err := converse(c, opening()...)
		for qpn := uint32(1); err == nil && qpn <= 64; qpn++ {
			_, err = converse(c, key(qpn))
			time.Sleep(8 * time.Second)
		}
		if d := time.Since(begun); d > 40*time.Second {
			r.Errorf("new keys every 8 s keep a session for %v", d)
		}
	})
	if counted["no_packet"] != 1 {
		t.Errorf("%v\n%s", counted, logged)
	}
}

// The longest exchanges of perftest do not wait: -q 64, and -a -b with one message of each size.
func TestClientsWithManyItemsDoNotWait(t *testing.T) {
	responding(t, Limits{}, both, func(r *rig) {
		begun := time.Now()
		c := r.call("192.0.2.2", deviceAddr)
		defer c.Close()
		items := opening()
		for range 2 {
			for qpn := range uint32(64) {
				items = append(items, key(qpn+1))
			}
			items = append(items, key(1))
		}
		if _, err := converse(c, items...); err != nil {
			r.Error(err)
		}
		d := r.call("192.0.2.2", deviceAddr)
		defer d.Close()
		items = append(opening(), key(1), key(1), key(1))
		for range perftest.AllSizes() {
			items = append(items, key(1), key(1))
			for range perftest.ReportFields {
				items = append(items, say{make([]byte, perftest.FieldLen), perftest.FieldLen})
			}
		}
		if _, err := converse(d, items...); err != nil {
			r.Error(err)
		}
		if d := time.Since(begun); d > 0 {
			r.Errorf("they waited for %v", d)
		}
	})
}

// Clients that repeat keys on the maximum number of connections of their address, and reconnect
// when they are ended, are answered at the rate of their address; others are not affected.
func TestItemsOfAnAddressArePacedWhateverItsSessions(t *testing.T) {
	responding(t, Limits{}, both, func(r *rig) {
		const seconds = 3
		begun, answered := time.Now(), make(chan int)
		for i := range 16 {
			go func() {
				n := 0
				for time.Since(begun) < seconds*time.Second {
					c := r.call("192.0.2.2", deviceAddr)
					if _, err := converse(c, opening()...); err == nil {
						n += len(opening()) + repeat(c, uint32(i+1), 1000)
					}
					c.Close()
				}
				answered <- n
			}()
		}
		time.Sleep(2 * time.Second)
		now := time.Now()
		c := r.call("192.0.2.9", deviceAddr)
		k := perftest.Key{OutReads: 1, QPN: 1, GID: gid("192.0.2.9")}
		if _, err := converse(c, append(opening(), say{k.Append(nil), perftest.KeyLen})...); err != nil {
			r.Errorf("another host: %v", err)
		}
		if d := time.Since(now); d > 10*time.Millisecond {
			r.Errorf("another host waits for %v", d)
		}
		c.Close()
		all := 0
		for range 16 {
			all += <-answered
		}
		if d := time.Since(begun); all > 1024+int(d/time.Millisecond)+100 {
			r.Errorf("%d items are answered in %v", all, d)
		}
		synctest.Wait()
	})
}

// taken takes items of a source for a second, each when the previous one is permitted, and
// returns their number.
func taken(from func(i int) netip.Addr) (n int) {
	p := itemPaces{bySource: map[source]pace.Bucket{}}
	now := time.Unix(1, 0)
	for end := now.Add(time.Second); now.Before(end); n++ {
		now = now.Add(p.take(from(n), now, 1))
	}
	return n
}

func TestItemsHaveAPaceOfAnAddressANetworkAndOfAll(t *testing.T) {
	for _, c := range []struct {
		name string
		from func(i int) netip.Addr
		want int
	}{
		{"an address", func(int) netip.Addr { return netip.MustParseAddr("192.0.2.7") }, 1024 + 1000},
		{"a /64", func(i int) netip.Addr { return numbered("2001:db8::", i%16) }, 2048 + 2000},
		{"all", func(i int) netip.Addr { return numbered("198.51.100.0", i%64) }, 4096 + 5000},
	} {
		if n := taken(c.from); n < c.want-1 || n > c.want+1 {
			t.Errorf("%s has %d items in a second, want %d", c.name, n, c.want)
		}
	}
}

func TestTheMemoryOfItemPacesIsBounded(t *testing.T) {
	p := itemPaces{bySource: map[source]pace.Bucket{}}
	now, most := time.Unix(1, 0), 0
	for i := range 20_000 {
		var addr [16]byte
		binary.BigEndian.PutUint32(addr[:], 0x20010db8)
		binary.BigEndian.PutUint32(addr[4:], uint32(i))
		p.take(netip.AddrFrom16(addr), now, 5)
		now = now.Add(allClients.Interval)
		most = max(most, len(p.bySource))
	}
	if most > maxItemPaces {
		t.Errorf("%d sources are remembered, want %d at most", most, maxItemPaces)
	}
}
