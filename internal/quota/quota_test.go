package quota

import (
	"net/netip"
	"testing"
	"time"
)

var (
	hostA = netip.MustParseAddr("192.0.2.1")
	hostB = netip.MustParseAddr("192.0.2.2")
	hostC = netip.MustParseAddr("192.0.2.3")
)

var granted Refusal

// table runs Clients and records which clients were evicted.
type table struct {
	*testing.T
	*Clients
	now    time.Time
	gaveUp []string
}

func newTable(t *testing.T, all, ofHost int) *table {
	return &table{T: t, Clients: New(all, ofHost)}
}

func (t *table) enter(name string, host netip.Addr, want Refusal) *Client {
	t.Helper()
	place, got := t.Enter(t.now, host, func() { t.gaveUp = append(t.gaveUp, name) })
	if got != want || (place != nil) != (want == granted) {
		t.Fatalf("%s: %+v, want %+v", name, got, want)
	}
	return place
}

func (t *table) lost(names ...string) {
	t.Helper()
	if len(names) != len(t.gaveUp) {
		t.Fatalf("%q gave up, want %q", t.gaveUp, names)
	}
	for i, n := range names {
		if t.gaveUp[i] != n {
			t.Fatalf("%q gave up, want %q", t.gaveUp, names)
		}
	}
	t.gaveUp = nil
}

func TestARequestTakesThePlaceOfTheOldestOfItsHostThatIsNotConnected(t *testing.T) {
	w := newTable(t, 10, 3)
	connected := w.enter("connected", hostA, granted)
	if !w.Connected(connected) {
		t.Fatal("its place is taken")
	}
	w.enter("other host", hostB, granted)
	first := w.enter("first", hostA, granted)
	second := w.enter("second", hostA, granted)
	w.enter("too early", hostA, Refusal{OfHost, true})
	w.now = w.now.Add(Grace - 1)
	w.enter("still too early", hostA, Refusal{OfHost, true})
	w.now = w.now.Add(1)
	third := w.enter("third", hostA, granted)
	w.lost("first")
	if w.Connected(first) {
		t.Error("who lost its place is connected")
	}
	waited := make(chan struct{})
	go func() {
		third.Wait()
		close(waited)
	}()
	select {
	case <-waited:
		t.Error("two have one place")
	case <-time.After(time.Millisecond):
	}
	w.Leave(first)
	<-waited
	second.Wait()
	if !w.Connected(second) || !w.Connected(third) {
		t.Error("a place is lost")
	}
	w.now = w.now.Add(time.Hour)
	w.enter("all are connected", hostA, Refusal{Bound: OfHost})
	w.Leave(connected)
	w.enter("fourth", hostA, granted)
	w.lost()
}

func TestWhereAllPlacesAreTakenTheOldestOfAnyHostGivesWay(t *testing.T) {
	w := newTable(t, 3, 2)
	a, b := w.enter("a", hostA, granted), w.enter("b", hostB, granted)
	if !w.Connected(a) {
		t.Fatal("its place is taken")
	}
	w.now = w.now.Add(time.Millisecond)
	c := w.enter("a2", hostA, granted)
	w.enter("too early", hostC, Refusal{OfAll, true})
	w.now = w.now.Add(Grace - time.Millisecond)
	d := w.enter("c", hostC, granted)
	w.lost("b")
	w.enter("too early as well", hostC, Refusal{OfAll, true})
	for _, place := range []*Client{a, b, c, d} {
		w.Leave(place)
	}
	if n, hosts := w.Taken(); n != 0 || hosts != 0 || len(w.pending) != 0 {
		t.Errorf("left over: %+v", w.Clients)
	}
}

func TestTheHostsOfANetworkHaveThreeQuartersOfAllPlaces(t *testing.T) {
	w := newTable(t, 8, 4)
	addr := func(text string) netip.Addr { return netip.MustParseAddr(text) }
	var first *Client
	for i, host := range []string{"2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4", "2001:db8::5",
		"2001:db8::6"} {
		place := w.enter(host, addr(host), granted)
		if i == 0 {
			first = place
		} else if !w.Connected(place) {
			t.Fatal("a place is lost")
		}
	}
	w.enter("one that is early", addr("2001:db8::7"), Refusal{OfNetwork, true})
	w.now = w.now.Add(Grace)
	late := w.enter("one that comes later", addr("2001:db8::7"), granted)
	w.lost("2001:db8::1")
	w.Leave(first)
	if late.Wait(); !w.Connected(late) {
		t.Fatal("a place is lost")
	}
	w.enter("one more", addr("2001:db8::8"), Refusal{Bound: OfNetwork})
	other := w.enter("one of another network", addr("2001:db8:0:1::1"), granted)
	w.enter("one of IPv4", hostA, granted)
	w.Leave(late)
	w.enter("one that finds no place", addr("2001:db8::8"), granted)
	w.enter("one too many", hostB, Refusal{OfAll, true})
	w.Leave(other)
	if n := w.networks[NetworkOf(addr("2001:db8:0:1::1"))]; n != 0 {
		t.Errorf("%d clients of a network are left", n)
	}
}

func TestPlacesAreTakenFromOthersAtABoundedRate(t *testing.T) {
	const all = 1000
	w := newTable(t, all, all)
	for range all {
		w.enter("asks", hostA, granted)
	}
	w.now = w.now.Add(time.Hour)
	taken := 0
	for range all {
		place, why := w.Enter(w.now, hostB, func() {})
		if place == nil {
			if why != (Refusal{OfAll, true}) {
				t.Fatalf("refused: %+v", why)
			}
			break
		}
		taken++
	}
	if taken != evictionRate.Burst {
		t.Errorf("%d places are taken at once, want %d", taken, evictionRate.Burst)
	}
	w.now = w.now.Add(evictionRate.Interval)
	w.enter("one more", hostB, granted)
	w.enter("and no other", hostB, Refusal{OfAll, true})
}
