package gsi

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"net/netip"
	"time"

	"github.com/gorxe/gorxe/internal/nic"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/socket"
	"github.com/gorxe/gorxe/transport"
)

// firstProbe is the delay after which a host that has not answered a request is probed for a RoCEv2
// listener. The probe is repeated, because it or the ICMP error may be lost: first after the same
// delay, then at doubling intervals, because hosts limit the rate of ICMP errors (RFC 1812,
// 4.3.2.8).
const firstProbe = 200 * time.Millisecond

// NothingListens waits until remote reports by ICMP that UDP port 4791 is closed, and returns
// true. It returns false when ctx is done, or if it cannot probe. d counts the probes that were
// sent.
//
// A probe is a datagram to queue pair 1 that every RoCEv2 listener accepts, including hardware: an
// RTU for no connection, which is not answered. It has a random transaction ID, and only an ICMP
// error that quotes the ID is accepted. If a host quotes too little of the datagram to include the
// ID, the request waits for its own timeout. The probe works for every kind of link, because it is
// not sent by a link but from a separate socket.
func NothingListens(ctx context.Context, d *nic.Device, local, remote netip.Addr) bool {
	timer := time.NewTimer(firstProbe)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	probe, err := socket.OpenPortProbe(local, remote)
	if err != nil {
		return false
	}
	stop := context.AfterFunc(ctx, func() { _ = probe.Close() })
	defer func() {
		if stop() {
			_ = probe.Close()
		}
	}()
	datagram := probePacket(local, remote, probe.SrcPort())
	done := make(chan bool, 1)
	go func() {
		refused, _ := probe.Refused(probeSecret)
		done <- refused
	}()
	for wait := firstProbe; ; wait *= 2 {
		// A probe that cannot be sent now, for example while the neighbour is being resolved, is
		// tried again.
		if probe.Send(datagram) == nil {
			d.CountPortProbe()
		}
		timer.Reset(wait)
		select {
		case refused := <-done:
			return refused
		case <-timer.C:
		}
	}
}

// probeSecret is the number of bytes that an ICMP error must quote: up to the end of the
// transaction ID.
const probeSecret = bth.BTHLen + bth.DETHLen + 16

// probePacket returns the probe datagram.
func probePacket(local, remote netip.Addr, srcPort uint16) []byte {
	var tid [8]byte
	// Read never fails: see crypto/rand.
	_, _ = rand.Read(tid[:])
	m := mad.Message{Attribute: mad.AttrRTU, TransactionID: binary.NativeEndian.Uint64(tid[:])}
	var b [mad.Len]byte
	// Encode fails for values that do not fit their fields; an RTU has no such values.
	_ = m.Encode(&b)
	p := bth.Packet{
		Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.GSI, DETH: bth.DETH{QKey: transport.GSIQKey, SrcQP: bth.GSI},
	}
	out := append(p.AppendHeaders(nil), b[:]...)
	src, dst := local.Unmap().WithZone(""), remote.Unmap().WithZone("")
	n := bth.UDPHeaderLen + len(out) + bth.ICRCLen
	var seed uint32
	if src.Is4() {
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: packet.DontFragment, SrcPort: srcPort,
			DstPort: packet.Port, UDPLen: n}
		seed = h.Seed() ^ bth.IDSeed(0)
	} else {
		h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: srcPort, DstPort: packet.Port, UDPLen: n}
		seed = h.Seed()
	}
	return bth.AppendICRC(out, bth.ICRC(seed, out))
}
