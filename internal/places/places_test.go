package places

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

// table drives places and says which clients had to give up.
type table struct {
	*testing.T
	*Places
	now    time.Time
	gaveUp []string
}

func newTable(t *testing.T, all, ofHost int) *table {
	return &table{T: t, Places: New(all, ofHost)}
}

func (t *table) enter(name string, host netip.Addr, want Refusal) *Place {
	t.Helper()
	place, got := t.Enter(t.now, host, func() { t.gaveUp = append(t.gaveUp, name) })
	if got != want || (place != nil) != (want == Granted) {
		t.Fatalf("%s: %v, want %v", name, got, want)
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
	connected := w.enter("connected", hostA, Granted)
	if !w.Connected(connected) {
		t.Fatal("its place is taken")
	}
	w.enter("other host", hostB, Granted)
	first := w.enter("first", hostA, Granted)
	second := w.enter("second", hostA, Granted)
	w.enter("too early", hostA, HostFull)
	w.now = w.now.Add(Grace - 1)
	w.enter("still too early", hostA, HostFull)
	w.now = w.now.Add(1)
	third := w.enter("third", hostA, Granted)
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
	w.enter("all are connected", hostA, HostFull)
	w.Leave(connected)
	w.enter("fourth", hostA, Granted)
	w.lost()
}

func TestWhereAllPlacesAreTakenTheOldestOfAnyHostGivesWay(t *testing.T) {
	w := newTable(t, 3, 2)
	a, b := w.enter("a", hostA, Granted), w.enter("b", hostB, Granted)
	if !w.Connected(a) {
		t.Fatal("its place is taken")
	}
	w.now = w.now.Add(time.Millisecond)
	c := w.enter("a2", hostA, Granted)
	w.enter("too early", hostC, Full)
	w.now = w.now.Add(Grace - time.Millisecond)
	d := w.enter("c", hostC, Granted)
	w.lost("b")
	w.enter("too early as well", hostC, Full)
	for _, place := range []*Place{a, b, c, d} {
		w.Leave(place)
	}
	if n, hosts := w.Taken(); n != 0 || hosts != 0 || len(w.asking) != 0 {
		t.Errorf("left over: %+v", w.Places)
	}
}
