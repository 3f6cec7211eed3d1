package socket

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"testing"
	"unsafe"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"golang.org/x/sys/unix"
)

// refusal returns the ancillary data of an ICMP error.
func refusal(level, typ int, origin, icmpType, code uint8, errno unix.Errno) []byte {
	b := make([]byte, unix.CmsgSpace(16))
	h := (*unix.Cmsghdr)(unsafe.Pointer(&b[0]))
	h.Level, h.Type = int32(level), int32(typ)
	h.SetLen(unix.CmsgLen(16))
	data := b[unix.CmsgLen(0):]
	binary.NativeEndian.PutUint32(data, uint32(errno))
	data[4], data[5], data[6] = origin, icmpType, code
	return b
}

func TestAPortProbeBelievesOnlyWhatQuotesItsDatagram(t *testing.T) {
	sent := bytes.Repeat([]byte{1, 2, 3, 4}, 20)
	other := bytes.Clone(sent)
	other[35]++
	const secret = 36
	to := &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 1}, Port: packet.Port}
	good := refusal(unix.SOL_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, 3, 3, unix.ECONNREFUSED)
	for _, tt := range []struct {
		name    string
		to      unix.Sockaddr
		quoted  []byte
		control []byte
		want    bool
	}{
		{"port unreachable", to, sent, good, true},
		{"of which the end is missing", to, sent[:secret], good, true},
		{"of which part of the secret is missing", to, sent[:secret-1], good, false},
		{"which quotes nothing", to, nil, good, false},
		{"of another secret", to, other, good, false},
		{"of a longer datagram", to, append(bytes.Clone(sent), 0), good, false},
		{"about another host", &unix.SockaddrInet4{Addr: [4]byte{192, 0, 2, 2}, Port: packet.Port}, sent, good, false},
		{"about another port", &unix.SockaddrInet4{Addr: to.Addr, Port: 9}, sent, good, false},
		{"without an address", nil, sent, good, false},
		{"host unreachable", to, sent,
			refusal(unix.SOL_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, 3, 1, unix.EHOSTUNREACH), false},
		{"too long", to, sent, refusal(unix.SOL_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_ICMP, 3, 4,
			unix.EMSGSIZE), false},
		{"an error of this host", to, sent,
			refusal(unix.SOL_IP, unix.IP_RECVERR, unix.SO_EE_ORIGIN_LOCAL, 3, 3, unix.ECONNREFUSED), false},
		{"something else", to, sent, refusal(unix.SOL_IP, unix.IP_TTL, 2, 3, 3, unix.ECONNREFUSED), false},
		{"nothing", to, sent, nil, false},
	} {
		p := &PortProbe{remote: netip.MustParseAddrPort("192.0.2.1:4791")}
		if p.refuses(tt.to, tt.quoted, tt.control, secret) {
			t.Errorf("%s, before anything was sent: believed", tt.name)
		}
		p.sent.Store(&sent)
		if got := p.refuses(tt.to, tt.quoted, tt.control, secret); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestAPortProbeHearsOfAHostWithoutANIC(t *testing.T) {
	hosts := testnet.Connect(t, testnet.Cable{
		MTU: 1500, Left: []string{"198.18.49.1/24", "2001:db8:49::1/64"},
		Right: []string{"198.18.49.2/24", "2001:db8:49::2/64"},
	})
	for _, ends := range [][2]string{
		{"198.18.49.1", "198.18.49.2"}, {"2001:db8:49::1", "2001:db8:49::2"},
	} {
		var p *PortProbe
		testnet.In(t, hosts.Left, func() (err error) {
			p, err = OpenPortProbe(netip.MustParseAddr(ends[0]), netip.MustParseAddr(ends[1]))
			return err
		})
		b := bytes.Repeat([]byte{byte(p.SrcPort())}, 280)
		if err := p.Send(b); err != nil {
			t.Fatal(err)
		}
		if refused, err := p.Refused(len(b)); err != nil || !refused {
			t.Errorf("%v: Refused = %v, %v", ends, refused, err)
		}
		ended := make(chan error, 1)
		go func() {
			_, err := p.Refused(len(b))
			ended <- err
		}()
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; err == nil {
			t.Errorf("%v: after Close there is no error", ends)
		}
	}
}
