package doctor

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"github.com/gorxe/gorxe/internal/host/capability"
	"golang.org/x/sys/unix"
)

// kernel returns the name and release of the kernel.
func kernel() string {
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return ""
	}
	return unix.ByteSliceToString(u.Sysname[:]) + " " + unix.ByteSliceToString(u.Release[:])
}

func limits() []Finding {
	return []Finding{
		offload("UDP send offload", unix.UDP_SEGMENT), offload("UDP receive offload", unix.UDP_GRO), buffers(),
		privileges(),
	}
}

// offload reports whether UDP sockets have an option to transfer many packets in one call.
func offload(subject string, option int) Finding {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return Finding{
			subject, Fail, fmt.Sprintf("no UDP socket can be opened: %v", err),
			"allow sockets in the container's profile",
		}
	}
	defer unix.Close(fd)
	if _, err := unix.GetsockoptInt(fd, unix.SOL_UDP, option); err != nil {
		return Finding{
			subject, Warn, fmt.Sprintf("the kernel has none (%v): messages of many packets are slower", err),
			"use Linux 5.0 or newer",
		}
	}
	return Finding{subject, OK, "the kernel has it", ""}
}

// wantedBuffer is the receive buffer that links request, in bytes.
const wantedBuffer = 32 << 20

// buffers reports the maximum size of a socket's receive buffer.
func buffers() Finding {
	const subject = "receive buffers"
	if capability.Effective(unix.CAP_NET_ADMIN) {
		return Finding{subject, OK, "as large as gorxe asks for (CAP_NET_ADMIN)", ""}
	}
	const file = "/proc/sys/net/core/rmem_max"
	text, err := os.ReadFile(file)
	if err != nil {
		// Only the initial network namespace has that file.
		return Finding{subject, OK, "the limit is not known here", ""}
	}
	n, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
	f := Finding{Subject: subject, State: OK, Text: fmt.Sprintf("%d bytes", n)}
	if n < wantedBuffer {
		f.State = Warn
		f.Text = fmt.Sprintf("%d bytes at most: packets of large bursts are dropped and retransmitted", n)
		f.Advice = fmt.Sprintf("sysctl -w net.core.rmem_max=%d", wantedBuffer)
	}
	return f
}

// privileges reports which links this process may open.
func privileges() Finding {
	const subject = "links"
	raw := capability.Effective(unix.CAP_NET_RAW)
	xdp := raw && capability.Effective(unix.CAP_NET_ADMIN) &&
		(capability.Effective(unix.CAP_BPF) || capability.Effective(unix.CAP_SYS_ADMIN))
	switch {
	case xdp:
		return Finding{subject, OK, "udp, raw, xdp (where the interface takes it: gorxe devinfo -v --link xdp)", ""}
	case raw:
		return Finding{subject, OK, "udp, raw; xdp needs CAP_NET_ADMIN and CAP_BPF as well", ""}
	}
	return Finding{subject, OK, "udp; raw needs CAP_NET_RAW, xdp CAP_NET_ADMIN and CAP_BPF as well", ""}
}
