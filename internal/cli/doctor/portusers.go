package doctor

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"io/fs"
	"net/netip"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/packet"
)

// portUsers returns the local addresses of all sockets of this network namespace with UDP port
// 4791, from /proc/net/udp and udp6 below root. It returns none if these files do not exist.
func portUsers(root fs.FS) (addrs []netip.Addr) {
	for _, name := range []string{"proc/net/udp", "proc/net/udp6"} {
		f, err := root.Open(name)
		if err != nil {
			continue
		}
		s := bufio.NewScanner(f)
		for s.Scan() {
			if a, ok := socketAddr(s.Text()); ok && a.Port() == packet.Port {
				addrs = append(addrs, a.Addr())
			}
		}
		_ = f.Close()
	}
	return addrs
}

// socketAddr returns the local address in a line of /proc/net/udp: the second word is
// ADDRESS:PORT in hexadecimal, the address as 32-bit words in the byte order of the host.
func socketAddr(line string) (netip.AddrPort, bool) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return netip.AddrPort{}, false
	}
	text, portText, ok := strings.Cut(words[1], ":")
	if !ok {
		return netip.AddrPort{}, false
	}
	port, err := strconv.ParseUint(portText, 16, 16)
	if err != nil {
		return netip.AddrPort{}, false
	}
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != 4 && len(b) != 16 {
		return netip.AddrPort{}, false
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, _ := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr, uint16(port)), true
}
