package ucma

import (
	"encoding/binary"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
)

// peerAt returns a port of the other device.
func peerAt(port uint16) netip.AddrPort { return netip.AddrPortFrom(addrs[1], port) }

func TestAddressesOfInfiniBandAreRefused(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceIB, 1)
	b := uapi.UCMBind{ID: id, AddrSize: 48}
	binary.LittleEndian.PutUint16(b.Addr[:], uapi.AFIB)
	client.refused(uapi.EAFNOSUPPORT, uapi.UCMCmdBind, b)
	client.destroy(id)
}

func TestCommandsOutOfPlaceAreRefused(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceTCP, 1)
	connect := uapi.UCMConnect{ConnParam: param(nil, ""), ID: id}
	for cmd, req := range map[uapi.UCMCommand]any{
		uapi.UCMCmdResolveRoute: uapi.UCMResolveRoute{ID: id},
		uapi.UCMCmdConnect:      connect,
		uapi.UCMCmdAccept:       uapi.UCMAccept{ConnParam: param(nil, ""), ID: id},
		uapi.UCMCmdReject:       uapi.UCMReject{ID: id},
		uapi.UCMCmdDisconnect:   uapi.UCMDisconnect{ID: id},
		uapi.UCMCmdNotify:       uapi.UCMNotify{ID: id, Event: uint32(uapi.EventCommEst)},
	} {
		client.refused(uapi.EINVAL, cmd, req)
	}
	client.refusedOut(uapi.EINVAL, uapi.UCMCmdInitQPAttr,
		uapi.UCMInitQPAttr{ID: id, QPState: uint32(uapi.QPSInit)}, 144)
	client.refusedOut(uapi.EINVAL, uapi.UCMCmdCreateID, uapi.UCMCreateID{PS: 0x1234}, 4)

	id = client.routed(uapi.PortSpaceTCP, 1, 2)
	connect.ID, connect.ConnParam.Valid = id, 0
	client.refused(uapi.EINVAL, uapi.UCMCmdConnect, connect)
	long := param(nil, "")
	long.PrivateDataLen = 57
	client.refused(uapi.EINVAL, uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: long, ID: id})
	client.refusedOut(uapi.EINVAL, uapi.UCMCmdInitQPAttr, uapi.UCMInitQPAttr{ID: id, QPState: uint32(uapi.QPSRTR)}, 144)
	if err := client.resolve(id, peerAt(1)); uapi.ErrnoOf(err) != uapi.EINVAL {
		t.Errorf("resolved again: %v", err)
	}
	client.refused(uapi.EINVAL, uapi.UCMCmdListen, uapi.UCMListen{ID: id})
}

func TestAnAddressThatLeadsNowhere(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceTCP, 1)
	if err := client.bind(id, netip.MustParseAddrPort("203.0.113.1:1")); uapi.ErrnoOf(err) != uapi.EADDRNOTAVAIL {
		t.Errorf("bound to an address of no device: %v", err)
	}
	// The device has no IPv6 address.
	for range maxQueued {
		if err := client.resolve(id, netip.MustParseAddrPort("[2001:db8::1]:1")); err != nil {
			t.Fatal(err)
		}
		// Resolving again is possible once the event is queued.
		for len(client.queueOf(id)) == 0 {
			client.awaitReadable()
		}
		if e := client.expect(uapi.UCMEventAddrError, id); int32(e.Status) != failure(uapi.EHOSTUNREACH) {
			t.Errorf("status %d", int32(e.Status))
		}
	}
}

// queueOf returns the queued events of an identifier.
func (c *channel) queueOf(id uint32) (out []*event) {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	for _, e := range c.ch.queue {
		if e.owner.num == id {
			out = append(out, e)
		}
	}
	return out
}

func TestEventsThatAProgramDoesNotFetchAreBounded(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceTCP, 1)
	for n := 0; ; {
		err := client.resolve(id, netip.MustParseAddrPort("[2001:db8::1]:1"))
		switch {
		case err == nil:
			n++
		case uapi.ErrnoOf(err) == uapi.ENOMEM:
			if n != maxQueued {
				t.Errorf("refused after %d events", n)
			}
			return
		case uapi.ErrnoOf(err) != uapi.EINVAL: // the previous one is in progress
			t.Fatal(err)
		}
	}
}

func TestAPortBelongsToOneIdentifier(t *testing.T) {
	client, _ := pair(t)
	any4, any6, own := netip.MustParseAddr("0.0.0.0"), netip.MustParseAddr("::"), addrs[0]
	loop4, loop6 := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")
	option := func(id uint32, name uapi.OptionID) {
		addr := client.room(4)
		if err := client.Write(addr, []byte{1, 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		client.do(uapi.UCMCmdSetOption, uapi.UCMSetOption{OptVal: addr, ID: id, OptName: uint32(name), OptLen: 4})
	}
	for _, c := range []struct {
		what          string
		first, second netip.Addr
		ps            uapi.PortSpace // of the second
		option        []uapi.OptionID
		want          uapi.Errno
	}{
		{"the same address", own, own, uapi.PortSpaceTCP, nil, uapi.EADDRINUSE},
		{"all addresses", any4, own, uapi.PortSpaceTCP, nil, uapi.EADDRNOTAVAIL},
		{"both families", any4, any6, uapi.PortSpaceTCP, nil, uapi.EADDRNOTAVAIL},
		{"localhost, which stands for all addresses", loop4, own, uapi.PortSpaceTCP, nil, uapi.EADDRNOTAVAIL},
		{"localhost of IPv6", own, loop6, uapi.PortSpaceTCP, nil, uapi.EADDRNOTAVAIL},
		{"both families, each for itself", any4, any6, uapi.PortSpaceTCP, []uapi.OptionID{uapi.OptionIDAFOnly}, 0},
		{"shared", own, own, uapi.PortSpaceTCP, []uapi.OptionID{uapi.OptionIDReuseAddr}, 0},
		{"another port space", own, own, uapi.PortSpaceUDP, nil, 0},
	} {
		first, second := client.create(uapi.PortSpaceTCP, 1), client.create(c.ps, 2)
		for _, o := range c.option {
			option(first, o)
			option(second, o)
		}
		if err := client.bind(first, netip.AddrPortFrom(c.first, 100)); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		if err := client.bind(second, netip.AddrPortFrom(c.second, 100)); uapi.ErrnoOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
		client.destroy(first)
		if c.want != 0 {
			if err := client.bind(second, netip.AddrPortFrom(c.second, 100)); err != nil {
				t.Errorf("%s, when the first is gone: %v", c.what, err)
			}
		}
		client.destroy(second)
	}
	if n := len(client.server.ports); n != 0 {
		t.Errorf("%d ports are left", n)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceTCP, 1)
	addr := client.room(16)
	for _, c := range []struct {
		level, name, length uint32
		addr                uint64
		value               byte
		want                uapi.Errno
	}{
		{0, uint32(uapi.OptionIDTOS), 1, addr, 0x20, 0},
		{0, uint32(uapi.OptionIDTOS), 4, addr, 0, uapi.EINVAL},
		{0, uint32(uapi.OptionIDTOS), 1, 8, 0, uapi.EFAULT},
		{0, uint32(uapi.OptionIDAckTimeout), 1, addr, 32, uapi.EINVAL},
		{0, uint32(uapi.OptionIDAckTimeout), 1, addr, 18, 0},
		{0, 77, 1, addr, 0, uapi.ENOSYS},
		{0, uint32(uapi.OptionIDReuseAddr), 1 << 31, addr, 0, uapi.EINVAL},
		{1, uint32(uapi.OptionIBPath), 72, addr, 0, uapi.ENOSYS},
	} {
		_ = client.Write(addr, []byte{c.value, 0, 0, 0})
		client.refused(c.want, uapi.UCMCmdSetOption, uapi.UCMSetOption{
			OptVal: c.addr, ID: id, Level: c.level, OptName: c.name, OptLen: c.length,
		})
	}
	if err := client.resolve(id, peerAt(1)); err != nil {
		t.Fatal(err)
	}
	client.expect(uapi.UCMEventAddrResolved, id)
	client.do(uapi.UCMCmdResolveRoute, uapi.UCMResolveRoute{ID: id})
	client.expect(uapi.UCMEventRouteResolved, id)
	if r := client.route(id); r.IBRoute[0].TrafficClass != 0x20 {
		t.Errorf("traffic class %#x", r.IBRoute[0].TrafficClass)
	}
}

func TestAddressesAreTold(t *testing.T) {
	client, _ := pair(t)
	id := client.create(uapi.PortSpaceTCP, 1)
	query := func(option uapi.QueryOption) (uapi.UCMQueryAddrResp, error) {
		return ask[uapi.UCMQueryAddrResp](client, uapi.UCMCmdQuery, func(a uint64) any {
			return uapi.UCMQuery{Response: a, ID: id, Option: uint32(option)}
		})
	}
	if r, err := query(uapi.QueryAddr); err != nil || r.SrcSize != 0 || r.NodeGUID != [8]byte{} {
		t.Errorf("of a new identifier: %+v, %v", r, err)
	}
	if err := client.bind(id, netip.AddrPortFrom(addrs[0], 5)); err != nil {
		t.Fatal(err)
	}
	r, err := query(uapi.QueryAddr)
	a, _ := r.SrcAddr.AddrPort()
	if err != nil || a != netip.AddrPortFrom(addrs[0], 5) || r.SrcSize != 16 || r.PortNum != 1 {
		t.Errorf("of a bound identifier: %+v, %v", r, err)
	}
	if _, err := query(uapi.QueryPath); uapi.ErrnoOf(err) != uapi.EINVAL {
		t.Errorf("paths: %v", err)
	}
}
