package linktest

import (
	"net"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/encap"
	mdpacket "github.com/mdlayher/packet"
)

// A Forger sends frames with arbitrary headers from the left host to the right host.
type Forger struct {
	t    *testing.T
	conn *mdpacket.Conn
	h    encap.Header
}

// NewForger returns a Forger whose frames have the source address src unless Send changes it. The
// Forger is closed at the end of the test.
func NewForger(t *testing.T, hosts *testnet.Hosts, src netip.Addr) *Forger {
	t.Helper()
	f := &Forger{t: t}
	mac := func(to *encap.MAC) func() error {
		return func() error {
			ifc, err := net.InterfaceByName(testnet.Interface)
			if err == nil {
				copy(to[:], ifc.HardwareAddr)
			}
			return err
		}
	}
	testnet.In(t, hosts.Left, mac(&f.h.SrcMAC))
	testnet.In(t, hosts.Right, mac(&f.h.DstMAC))
	testnet.In(t, hosts.Left, func() error {
		ifc, err := net.InterfaceByName(testnet.Interface)
		if err != nil {
			return err
		}
		f.conn, err = mdpacket.Listen(ifc, mdpacket.Raw, 0, nil)
		return err
	})
	t.Cleanup(func() { f.conn.Close() })
	f.h.Src, f.h.HopLimit, f.h.SrcPort = src, 64, packet.Port
	return f
}

// Send sends a frame with payload text to dst. change, unless nil, may first modify the header.
func (f *Forger) Send(dst netip.Addr, text string, change func(h *encap.Header)) {
	f.t.Helper()
	h := f.h
	h.Dst = dst
	if change != nil {
		change(&h)
	}
	b := make([]byte, h.Len(), h.Len()+len(text))
	h.Put(b, len(text))
	if _, err := f.conn.WriteTo(append(b, text...), &mdpacket.Addr{HardwareAddr: h.DstMAC[:]}); err != nil {
		f.t.Fatal(err)
	}
}

// Next returns the payload of the next frame that l receives.
func Next(t *testing.T, l packet.Link) string {
	t.Helper()
	rb := packet.NewRecvBatch(1)
	if err := l.Recv(rb); err != nil {
		t.Fatal(err)
	}
	return string(rb.Frames[0].Data)
}
