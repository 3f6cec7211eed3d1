package xsk

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

// Features are the AF_XDP features of the driver of a network interface.
type Features struct {
	// Native means that a program can be attached in the driver and redirect frames there.
	Native bool
	// ZeroCopy means that the driver supports zero-copy, for frames of up to ZeroCopyBuffers
	// buffers.
	ZeroCopy        bool
	ZeroCopyBuffers int
}

// ErrNoFeatureReport is the error for a kernel that does not report driver features: Linux before
// 6.3.
var ErrNoFeatureReport = errors.New("the kernel does not report the XDP features of drivers")

// Constants of linux/netdev.h.
const (
	netdevGet      = 1 // NETDEV_CMD_DEV_GET
	netdevIfindex  = 1 // NETDEV_A_DEV_...
	netdevFeatures = 3
	netdevSegments = 4

	featureBasic, featureRedirect, featureZeroCopy = 1, 2, 8 // NETDEV_XDP_ACT_...
)

// genlHeader is struct genlmsghdr: command, version, and two reserved bytes, which must be 0. The
// type of package nl would serialize the reserved bytes from the memory that follows it.
type genlHeader [nl.SizeofGenlmsg]byte

func (h genlHeader) Len() int          { return len(h) }
func (h genlHeader) Serialize() []byte { return h[:] }

// FeaturesOf returns the features that the kernel reports. It changes nothing on the interface.
func FeaturesOf(ifindex int) (f Features, err error) {
	family, err := netlink.GenlFamilyGet("netdev")
	if errors.Is(err, unix.ENOENT) {
		return f, ErrNoFeatureReport
	}
	if err != nil {
		return f, fmt.Errorf("%w: %w", ErrNoFeatureReport, err)
	}
	r := nl.NewNetlinkRequest(int(family.ID), 0)
	r.AddData(genlHeader{netdevGet, 1})
	r.AddData(nl.NewRtAttr(netdevIfindex, nl.Uint32Attr(uint32(ifindex))))
	answers, err := r.Execute(unix.NETLINK_GENERIC, 0)
	if err != nil {
		return f, fmt.Errorf("querying the XDP features of interface %d: %w", ifindex, err)
	}
	for _, a := range answers {
		if len(a) < nl.SizeofGenlmsg {
			continue
		}
		attrs, err := nl.ParseRouteAttr(a[nl.SizeofGenlmsg:])
		if err != nil {
			return f, fmt.Errorf("reading the XDP features of interface %d: %w", ifindex, err)
		}
		for _, attr := range attrs {
			switch v := attr.Value; {
			case attr.Attr.Type == netdevFeatures && len(v) == 8:
				bits := binary.NativeEndian.Uint64(v)
				f.Native = bits&featureBasic != 0 && bits&featureRedirect != 0
				f.ZeroCopy = bits&featureZeroCopy != 0
				f.ZeroCopyBuffers = max(f.ZeroCopyBuffers, 1)
			case attr.Attr.Type == netdevSegments && len(v) == 4:
				f.ZeroCopyBuffers = int(binary.NativeEndian.Uint32(v))
			}
		}
	}
	return f, nil
}
