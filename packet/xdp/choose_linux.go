package xdp

import (
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/gorxe/gorxe/internal/host/xsk"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
)

// longestFrame is the length of an IP packet for the largest path MTU, 4096, with all headers,
// in bytes.
const longestFrame = 4096 + 80

// ListenZeroCopy opens an xdp link if the driver supports zero-copy. Otherwise it returns an
// error without changing the interface.
//
// AF_XDP transfers single frames, the other links trains of up to 64 KiB, so xdp is the fastest
// link only if the driver does not copy frames. ListenZeroCopy first asks the kernel whether the
// driver supports zero-copy (Linux 6.3 and later), because attaching a program resets the queues of
// many network cards.
func ListenZeroCopy(addr netip.Addr) (packet.Link, error) {
	_, mtu, ifname, err := packet.HostAddrs(addr.String())
	if err != nil {
		return nil, err
	}
	ifc, err := net.InterfaceByName(ifname)
	if err != nil {
		return nil, fmt.Errorf("packet: xdp %v: %w", addr, err)
	}
	if len(ifc.HardwareAddr) != len(encap.MAC{}) {
		return nil, fmt.Errorf("%s is not an Ethernet interface", ifname)
	}
	f, err := xsk.FeaturesOf(ifc.Index)
	if err != nil {
		return nil, err
	}
	if err := missingFeature(f, mtu); err != nil {
		return nil, fmt.Errorf("the driver of %s %w", ifname, err)
	}
	l, err := Listen(addr, Options{})
	if err != nil {
		return nil, err
	}
	if m := l.(*link).end.Mode(); !m.ZeroCopy {
		return nil, errors.Join(fmt.Errorf("the driver of %s supports zero-copy but did not enable it: %v",
			ifname, m), l.Close())
	}
	return l, nil
}

// missingFeature returns an error if the driver lacks a feature without which xdp is not the best
// kind of link for an interface with the given MTU.
func missingFeature(f xsk.Features, mtu int) error {
	switch {
	case !f.Native:
		return errors.New("has no native XDP support")
	case !f.ZeroCopy:
		return errors.New("does not support zero-copy")
	case f.ZeroCopyBuffers < 2 && min(mtu, longestFrame) > xsk.OneBuffer-encap.EthernetLen:
		return fmt.Errorf("supports zero-copy only for frames of up to %d bytes, and the MTU is %d", xsk.OneBuffer, mtu)
	}
	return nil
}
