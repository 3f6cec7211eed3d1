package xsk

import (
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// channels is struct ethtool_channels of linux/ethtool.h: the maximum and current numbers of
// queues.
type channels struct {
	cmd                                  uint32
	maxRx, maxTx, maxOther, maxCombined  uint32
	rxCount, txCount, otherCount, inBoth uint32
}

// rxQueues returns the number of active receive queues of an interface, or the maximum number
// if the driver does not report it.
func rxQueues(l *netlink.LinkAttrs) int {
	c := channels{cmd: unix.ETHTOOL_GCHANNELS}
	if err := ethtool(l.Name, &c); err == nil && c.rxCount+c.inBoth > 0 {
		return int(c.rxCount + c.inBoth)
	}
	return max(l.NumRxQueues, 1)
}

// ethtool executes an ethtool command on an interface.
func ethtool(name string, c *channels) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// struct ifreq
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(c)}
	copy(request.name[:unix.IFNAMSIZ-1], name)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL,
		uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
