package uapi

import (
	"bytes"
	"net/netip"
	"testing"
)

func ucmWrite(cmd UCMCommand, out uint16, req []byte) []byte {
	return append(Encode(UCMCmdHdr{Cmd: uint32(cmd), In: uint16(len(req)), Out: out}), req...)
}

func TestRDMACMCommandRules(t *testing.T) {
	for _, c := range []struct {
		what string
		b    []byte
		want Errno
	}{
		{"LISTEN", ucmWrite(UCMCmdListen, 0, make([]byte, 8)), 0},
		{"bytes after the request", append(ucmWrite(UCMCmdListen, 0, make([]byte, 8)), 1), 0},
		{"longer request", ucmWrite(UCMCmdListen, 0, make([]byte, 12)), 0},
		{"CONNECT without ECE", ucmWrite(UCMCmdConnect, 0, make([]byte, 280)), 0},
		{"events without ECE", ucmWrite(UCMCmdGetEvent, 324, make([]byte, 8)), 0},
		{"nothing", nil, EINVAL},
		{"part of a header", make([]byte, 7), EINVAL},
		{"unknown command", ucmWrite(numUCMCommands, 0, make([]byte, 300)), EINVAL},
		{"GET_OPTION", ucmWrite(UCMCmdGetOption, 64, make([]byte, 64)), ENOSYS},
		{"fewer bytes than announced", ucmWrite(UCMCmdListen, 0, make([]byte, 8))[:15], EINVAL},
		{"short request", ucmWrite(UCMCmdListen, 0, make([]byte, 7)), EINVAL},
		{"short response", ucmWrite(UCMCmdGetEvent, 323, make([]byte, 8)), ENOSPC},
		{"CREATE_ID without room", ucmWrite(UCMCmdCreateID, 3, make([]byte, 24)), ENOSPC},
	} {
		if _, err := ParseUCM(c.b); ErrnoOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	req := Encode(UCMCreateID{UID: 1, Response: 2, PS: uint16(PortSpaceTCP), QPType: uint8(QPTypeRC)})
	call, err := ParseUCM(append(ucmWrite(UCMCmdCreateID, 4, req), 9))
	if err != nil || call.Spec.Command != UCMCmdCreateID || !bytes.Equal(call.Req, req) || call.Out != 4 {
		t.Errorf("%+v, %v", call, err)
	}
}

func TestSocketAddressesSurviveARoundTrip(t *testing.T) {
	for _, s := range []string{"192.0.2.1:4791", "[2001:db8::1]:18515", "[fe80::1%7]:1", "[::ffff:192.0.2.1]:2"} {
		want := netip.MustParseAddrPort(s)
		short, long := NewSockaddr(want), NewSockaddrStorage(want)
		if got, ok := short.AddrPort(); !ok || got != want {
			t.Errorf("%v became %v, %v", want, got, ok)
		}
		if got, ok := long.AddrPort(); !ok || got != want {
			t.Errorf("%v became %v, %v", want, got, ok)
		}
		if short.Family() != long.Family() {
			t.Errorf("%v has the families %d and %d", want, short.Family(), long.Family())
		}
	}
}

func TestSocketAddressLayout(t *testing.T) {
	v4 := NewSockaddr(netip.MustParseAddrPort("192.0.2.1:4791"))
	if want := []byte{2, 0, 0x12, 0xb7, 192, 0, 2, 1}; !bytes.Equal(v4[:8], want) || !Cleared(v4[:], 8) {
		t.Errorf("sockaddr_in is %x", v4)
	}
	v6 := NewSockaddr(netip.MustParseAddrPort("[2001:db8::1%258]:1"))
	if v6[0] != 10 || v6[8] != 0x20 || v6[23] != 1 || v6[24] != 2 || v6[25] != 1 {
		t.Errorf("sockaddr_in6 is %x", v6)
	}
}

func TestOtherSocketAddressesAreNotRead(t *testing.T) {
	ib := SockaddrIn6{AFIB}
	if a, ok := ib.AddrPort(); ok {
		t.Errorf("an address of family AF_IB is %v", a)
	}
	if s := NewSockaddr(netip.AddrPort{}); s != (SockaddrIn6{}) {
		t.Errorf("no address is %x", s)
	}
}
