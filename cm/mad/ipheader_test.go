package mad_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/qp"
)

const noAddr = " 00000000000000000000000000000000 "

// ipHeaders spells out the header, one group of digits per field.
var ipHeaders = []struct {
	name     string
	wire     string
	want     mad.IPHeader
	consumer string
}{
	{
		"IPv4",
		"00 40 8650 000000000000000000000000c6120002 000000000000000000000000c6120003 6869",
		mad.IPHeader{SourcePort: 0x8650, Source: addr("198.18.0.2"), Destination: addr("198.18.0.3")},
		"hi",
	},
	{
		"IPv6, nothing of the program's",
		"00 60 ffff" + gid1Hex + "fe80000000000000505400fffe000002",
		mad.IPHeader{SourcePort: 65535, Source: addr("2001:db8::1"), Destination: addr("fe80::5054:ff:fe00:2")},
		"",
	},
	{
		"an IPv4 address mapped into IPv6",
		"00 60 0001" + gid2Hex + gid2Hex,
		mad.IPHeader{SourcePort: 1, Source: addr("::ffff:198.18.0.2"), Destination: addr("::ffff:198.18.0.2")},
		"",
	},
	{
		"no addresses, for Check to refuse",
		"00 40 0000" + noAddr + noAddr,
		mad.IPHeader{Source: addr("0.0.0.0"), Destination: addr("0.0.0.0")},
		"",
	},
}

func addr(s string) netip.Addr { return netip.MustParseAddr(s) }

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestIPHeaderLayout(t *testing.T) {
	for _, tt := range ipHeaders {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.wire)
			var got mad.IPHeader
			consumer, err := got.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if got != tt.want || string(consumer) != tt.consumer {
				t.Errorf("Decode = %+v and %q, want %+v and %q", got, consumer, tt.want, tt.consumer)
			}
			again, err := got.Append([]byte("before"))
			if want := append([]byte("before"), b[:mad.IPHeaderLen]...); err != nil || !bytes.Equal(again, want) {
				t.Errorf("Append = %x, %v, want %x", again, err, want)
			}
		})
	}
}

func TestIPHeaderIgnoresReservedBits(t *testing.T) {
	var got mad.IPHeader
	if _, err := got.Decode(
		unhex(t, "00 4f 8650 ffffffffffffffffffffffffc6120002 ffffffffffffffffffffffffc6120003")); err != nil {
		t.Fatal(err)
	}
	if got != ipHeaders[0].want {
		t.Errorf("Decode = %+v, want %+v", got, ipHeaders[0].want)
	}
}

func TestIPHeaderRefuses(t *testing.T) {
	good := unhex(t, ipHeaders[0].wire)
	for _, tt := range []struct {
		name   string
		b      []byte
		reason mad.Reason
	}{
		{"nothing", nil, mad.ReasonIPLength},
		{"one byte too few", good[:mad.IPHeaderLen-1], mad.ReasonIPLength},
		{"major version 1", set(0, 0x10)(bytes.Clone(good)), mad.ReasonIPCMVersion},
		{"minor version 1, as Linux", set(0, 0x01)(bytes.Clone(good)), mad.ReasonIPCMVersion},
		{"IP version 0", set(1, 0x00)(bytes.Clone(good)), mad.ReasonIPVersion},
		{"IP version 5", set(1, 0x54)(bytes.Clone(good)), mad.ReasonIPVersion},
		{"IP version in the low half", set(1, 0x04)(bytes.Clone(good)), mad.ReasonIPVersion},
	} {
		h := mad.IPHeader{SourcePort: 7}
		consumer, err := h.Decode(tt.b)
		if got := mad.ReasonOf(err); got != tt.reason || consumer != nil {
			t.Errorf("%s: Decode = %q, %v, reason %s, want %s", tt.name, consumer, err, got, tt.reason)
		}
		if h != (mad.IPHeader{SourcePort: 7}) {
			t.Errorf("%s: refused, and changed to %+v", tt.name, h)
		}
	}
}

func TestIPHeaderAppendRefusesMixedAddresses(t *testing.T) {
	for _, h := range []mad.IPHeader{
		{},
		{Source: addr("192.0.2.1")},
		{Destination: addr("192.0.2.1")},
		{Destination: addr("2001:db8::1")},
		{Source: addr("192.0.2.1"), Destination: addr("2001:db8::1")},
		{Source: addr("192.0.2.1"), Destination: addr("::ffff:192.0.2.1")},
	} {
		b, err := h.Append([]byte("before"))
		if err == nil || string(b) != "before" ||
			!strings.Contains(err.Error(), h.Source.String()+" to "+h.Destination.String()) {
			t.Errorf("Append of %+v = %q, %v", h, b, err)
		}
	}
}

func TestIPHeaderDropsScopes(t *testing.T) {
	h := mad.IPHeader{Source: addr("fe80::1%eth0"), Destination: addr("fe80::2%eth0")}
	b, err := h.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	var got mad.IPHeader
	if _, err := got.Decode(b); err != nil {
		t.Fatal(err)
	}
	if want := (mad.IPHeader{Source: addr("fe80::1"), Destination: addr("fe80::2")}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

func TestIPHeaderCheckSenderRefusesAnothersAddress(t *testing.T) {
	for _, tt := range []struct {
		source, from string
		want         mad.Reason
	}{
		{"198.18.0.2", "198.18.0.2", mad.ReasonNone},
		{"198.18.0.3", "198.18.0.2", mad.ReasonIPSender},
		{"::ffff:198.18.0.2", "198.18.0.2", mad.ReasonNone},
		{"::ffff:198.18.0.3", "198.18.0.2", mad.ReasonIPSender},
		{"::198.18.0.2", "198.18.0.2", mad.ReasonIPSender},
		{"2001:db8::1", "2001:db8::1", mad.ReasonNone},
		{"2001:db8::1", "2001:db8::2", mad.ReasonIPSender},
		{"fe80::1", "fe80::1%eth0", mad.ReasonNone},
		{"fe80::1", "2001:db8::1", mad.ReasonIPSender},
		{"198.18.0.2", "2001:db8::1", mad.ReasonIPSender},
	} {
		h := mad.IPHeader{Source: addr(tt.source)}
		if err := h.CheckSender(qp.GIDFromAddr(addr(tt.from))); mad.ReasonOf(err) != tt.want {
			t.Errorf("%s from %s: %v, want reason %s", tt.source, tt.from, err, tt.want)
		}
	}
	err := (&mad.IPHeader{}).CheckSender(qp.GIDFromAddr(addr("198.18.0.2")))
	if mad.ReasonOf(err) != mad.ReasonIPSender {
		t.Errorf("no address: %v", err)
	}
}

func TestIPHeaderCheckRefusesAddressesThatNoPeerHas(t *testing.T) {
	const source, destination, good = mad.ReasonIPSource, mad.ReasonIPDestination, mad.ReasonNone
	for _, tt := range []struct {
		addr         string
		asSrc, asDst mad.Reason
		other        string
	}{
		{"198.18.0.2", good, good, "198.18.0.3"},
		{"1.0.0.0", good, good, "198.18.0.3"},
		{"255.255.255.254", good, good, "198.18.0.3"},
		{"0.0.0.0", source, destination, "198.18.0.3"},
		{"0.1.2.3", source, destination, "198.18.0.3"},
		{"127.0.0.1", source, destination, "198.18.0.3"},
		{"127.255.0.1", source, destination, "198.18.0.3"},
		{"255.255.255.255", source, destination, "198.18.0.3"},
		{"224.0.0.1", source, good, "198.18.0.3"},
		{"239.255.255.255", source, good, "198.18.0.3"},
		{"2001:db8::1", good, good, "2001:db8::2"},
		{"fe80::1", good, good, "fe80::2"},
		{"::", source, destination, "2001:db8::2"},
		{"::1", source, destination, "2001:db8::2"},
		{"ff02::1", source, good, "2001:db8::2"},
		{"::ffff:198.18.0.2", good, good, "2001:db8::2"},
		{"::ffff:127.0.0.1", source, destination, "2001:db8::2"},
		{"::ffff:0.0.0.0", source, destination, "2001:db8::2"},
		{"::ffff:255.255.255.255", source, destination, "2001:db8::2"},
		{"::ffff:224.0.0.1", source, good, "2001:db8::2"},
	} {
		a, other := addr(tt.addr), addr(tt.other)
		if err := (&mad.IPHeader{Source: a, Destination: other}).Check(); mad.ReasonOf(err) != tt.asSrc {
			t.Errorf("source %v: %v, want reason %s", a, err, tt.asSrc)
		}
		if err := (&mad.IPHeader{Source: other, Destination: a}).Check(); mad.ReasonOf(err) != tt.asDst {
			t.Errorf("destination %v: %v, want reason %s", a, err, tt.asDst)
		}
	}
	var refused *mad.DecodeError
	if err := (&mad.IPHeader{}).Check(); !errors.As(err, &refused) || refused.Reason != source {
		t.Errorf("no addresses at all: %v", err)
	}
}
