package ucma

import (
	"errors"
	"testing"

	"github.com/gorxe/gorxe/internal/host/pipetest"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
	"golang.org/x/sys/unix"
)

// awaitReadable waits until an event is queued.
func (c *channel) awaitReadable() {
	c.Helper()
	fds := []unix.PollFd{{Fd: int32(c.fd), Events: unix.POLLIN}}
	for {
		if n, err := unix.Poll(fds, -1); err == nil && n == 1 {
			return
		}
	}
}

// fetch starts to fetch an event.
func (c *channel) fetch() (uint64, <-chan error) {
	size := uapi.SizeOf(uapi.UCMEventResp{})
	addr := c.room(size)
	return addr, c.begin(uapi.UCMCmdGetEvent, uapi.UCMGetEvent{Response: addr}, size)
}

func TestAChannelIsReadableWhileAnEventWaits(t *testing.T) {
	client, _ := pair(t)
	client.nonBlocking()
	if _, done := client.fetch(); uapi.ErrnoOf(<-done) != uapi.EAGAIN || client.readable() {
		t.Error("an empty channel has an event")
	}
	id := client.routedWithoutFetching()
	for _, kind := range []uapi.UCMEvent{uapi.UCMEventAddrResolved, uapi.UCMEventRouteResolved} {
		if !client.readable() {
			t.Errorf("it is not readable before %v", kind)
		}
		client.expect(kind, id)
	}
	if _, done := client.fetch(); uapi.ErrnoOf(<-done) != uapi.EAGAIN || client.readable() {
		t.Error("the channel has another event")
	}
}

// routedWithoutFetching returns an identifier with two queued events.
func (c *channel) routedWithoutFetching() uint32 {
	c.Helper()
	id := c.create(uapi.PortSpaceTCP, 1)
	if err := c.resolve(id, peerAt(1)); err != nil {
		c.Fatal(err)
	}
	c.awaitReadable()
	c.do(uapi.UCMCmdResolveRoute, uapi.UCMResolveRoute{ID: id})
	return id
}

func TestAProgramThatHoldsItsChannelDelaysNoOther(t *testing.T) {
	s := hosts(t)[0]
	held, other := start(t, s).open(), start(t, s).open()
	held.routedWithoutFetching()
	pipetest.Hold(t, held.fd)
	go func() {
		held.fetch()
		held.fetch() // the pipe is to be emptied, which the program delays
	}()
	for range 3 {
		id := other.routedWithoutFetching()
		other.expect(uapi.UCMEventAddrResolved, id)
		other.expect(uapi.UCMEventRouteResolved, id)
		other.destroy(id)
	}
	if err := held.ch.Close(); err != nil {
		t.Error(err)
	}
}

func TestAThreadWaitsForAnEvent(t *testing.T) {
	client, _ := pair(t)
	first, done := client.fetch()
	<-client.interrupted
	_, second := client.fetch()
	interrupt := <-client.interrupted
	id := client.create(uapi.PortSpaceTCP, 1)
	if err := client.resolve(id, peerAt(1)); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if e := result[uapi.UCMEventResp](client, first); e.ID != id || client.readable() {
		t.Errorf("the first that waits gets the event of %d", e.ID)
	}
	select {
	case err := <-second:
		t.Errorf("the second gets %v", err)
	default:
	}
	interrupt()
	if err := <-second; !errors.Is(err, ErrInterrupted) {
		t.Errorf("interrupted with %v", err)
	}
	interrupt() // nothing waits any more
}

func TestAnEventThatCannotBeStoredIsNotLost(t *testing.T) {
	client, _ := pair(t)
	id := client.routedWithoutFetching()
	bad := func(n int) <-chan error {
		return client.begin(uapi.UCMCmdGetEvent, uapi.UCMGetEvent{Response: uint64(n)},
			uapi.SizeOf(uapi.UCMEventResp{}))
	}
	if err := <-bad(8); uapi.ErrnoOf(err) != uapi.EFAULT {
		t.Errorf("an event is stored nowhere: %v", err)
	}
	client.expect(uapi.UCMEventAddrResolved, id)
	if n := client.destroy(id); n != 1 || client.readable() {
		t.Errorf("%d events were fetched", n)
	}
}

func TestAnIdentifierThatCannotBeToldIsNotMade(t *testing.T) {
	client, _ := pair(t)
	client.refusedOut(uapi.EFAULT, uapi.UCMCmdCreateID, uapi.UCMCreateID{UID: 1, PS: uint16(uapi.PortSpaceTCP)}, 4)
	if n := len(client.server.ids); n != 0 {
		t.Errorf("%d identifiers", n)
	}
}

func (c *channel) refusedOut(want uapi.Errno, cmd uapi.UCMCommand, req any, out int) {
	c.Helper()
	if err := <-c.begin(cmd, req, out); uapi.ErrnoOf(err) != want {
		c.Errorf("%v: %v, want %v", cmd, err, want)
	}
}

func TestOnlyFetchedEventsAreReported(t *testing.T) {
	client, _ := pair(t)
	id := client.routedWithoutFetching()
	other := client.create(uapi.PortSpaceTCP, 2)
	if err := client.resolve(other, peerAt(1)); err != nil {
		t.Fatal(err)
	}
	client.expect(uapi.UCMEventAddrResolved, id)
	if n := client.destroy(id); n != 1 {
		t.Errorf("%d events were fetched", n)
	}
	// The events of others remain.
	client.expect(uapi.UCMEventAddrResolved, other)
}

func TestAnIdentifierMovesToAnotherChannelWithItsEvents(t *testing.T) {
	c := &connected{}
	c.client, c.server = pair(t)
	old, fresh := c.client, c.client.open()
	c.atClient = old.routedWithoutFetching()
	old.expect(uapi.UCMEventAddrResolved, c.atClient)
	move := func(to, from *channel, id uint32) uapi.UCMMigrateResp {
		t.Helper()
		return must[uapi.UCMMigrateResp](to, uapi.UCMCmdMigrateID, func(a uint64) any {
			return uapi.UCMMigrateID{Response: a, ID: id, FD: uint32(from.fd)}
		})
	}
	if n := move(fresh, old, c.atClient).EventsReported; n != 1 {
		t.Errorf("%d events were fetched from the old channel", n)
	}
	if old.readable() || !fresh.readable() {
		t.Error("the event has not moved")
	}
	fresh.expect(uapi.UCMEventRouteResolved, c.atClient)
	old.refused(uapi.EINVAL, uapi.UCMCmdDisconnect, uapi.UCMDisconnect{ID: c.atClient})
	// A listener takes along the requests that its program has not learned of.
	listener := c.server.listenAt(uapi.PortSpaceTCP, 1, 0x1000)
	q := fresh.qp(verbs.RC)
	fresh.do(uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(q, ""), ID: c.atClient})
	c.server.awaitReadable()
	second := c.server.open()
	move(second, c.server, listener)
	e := second.event()
	second.do(uapi.UCMCmdReject, uapi.UCMReject{ID: e.ID})
	fresh.expect(uapi.UCMEventRejected, c.atClient)
	if n := len(c.server.ch.ids); n != 0 {
		t.Errorf("the old channel has %d identifiers", n)
	}
	for what, fd := range map[string]int{"no descriptor": -1, "no channel": 0} {
		_, err := ask[uapi.UCMMigrateResp](fresh, uapi.UCMCmdMigrateID, func(a uint64) any {
			return uapi.UCMMigrateID{Response: a, ID: c.atClient, FD: uint32(fd)}
		})
		if uapi.ErrnoOf(err) != uapi.EINVAL {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestIdentifiersOfOtherChannelsAreNotFound(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceTCP, 1)
	other := start(t, client.server).open()
	other.refused(uapi.EINVAL, uapi.UCMCmdResolveRoute, uapi.UCMResolveRoute{ID: id})
	other.refusedOut(uapi.EINVAL, uapi.UCMCmdDestroyID, uapi.UCMDestroyID{ID: id}, 4)
	other.refused(uapi.ENOENT, uapi.UCMCmdResolveRoute, uapi.UCMResolveRoute{ID: id + 1})
}

func TestTheIdentifiersOfAChannelAreBounded(t *testing.T) {
	client, _ := pair(t)
	for range maxIDs {
		client.create(uapi.PortSpaceTCP, 1)
	}
	client.refusedOut(uapi.ENOMEM, uapi.UCMCmdCreateID, uapi.UCMCreateID{UID: 1, PS: uint16(uapi.PortSpaceTCP)}, 4)
}
