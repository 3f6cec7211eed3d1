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

// firstKnock is when a host that has not answered a request is asked whether anything listens for
// RoCEv2 packets there. The next questions come after twice the wait before, since ICMP errors are
// few by design (RFC 1812, 4.3.2.8) and may be lost.
const firstKnock = 200 * time.Millisecond

// NothingListens waits until remote says by ICMP that nothing has UDP port 4791 there. It returns
// false when ctx is done, or when it cannot know.
//
// d counts what is sent.
//
// The question is a datagram to queue pair 1, as good as any request, so that all that serves the
// port takes it, in hardware, too: an RTU for no connection, which nobody answers. It has a random
// transaction ID, and only an error that quotes it is believed.
func NothingListens(ctx context.Context, d *nic.Device, local, remote netip.Addr) bool {
	timer := time.NewTimer(firstKnock)
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
	datagram := knock(local, remote, probe.SrcPort())
	done := make(chan bool, 1)
	go func() {
		refused, _ := probe.Refused(knockSecret)
		done <- refused
	}()
	for wait := firstKnock; ; wait *= 2 {
		// What cannot be sent now may be sent later: the neighbour is asked for, say.
		if probe.Send(datagram) == nil {
			d.PortProbed()
		}
		timer.Reset(wait)
		select {
		case refused := <-done:
			return refused
		case <-timer.C:
		}
	}
}

// knockSecret is the length of what stands in front of the payload of the transaction ID, and of it.
const knockSecret = bth.BTHLen + bth.DETHLen + 16

// knock makes the datagram.
func knock(local, remote netip.Addr, srcPort uint16) []byte {
	var tid [8]byte
	// It fails on no system: see crypto/rand.
	_, _ = rand.Read(tid[:])
	m := mad.Message{Attribute: mad.AttrRTU, TransactionID: binary.NativeEndian.Uint64(tid[:])}
	var b [mad.Len]byte
	// The error is of values that do not fit their fields, and an RTU has none such.
	_ = m.Encode(&b)
	p := bth.Packet{
		Opcode: bth.UDSendOnly, PKey: 0xffff, DestQP: bth.GSI, DETH: bth.DETH{QKey: transport.GSIQKey, SrcQP: bth.GSI},
	}
	out := append(p.AppendHeaders(nil), b[:]...)
	src, dst := local.Unmap().WithZone(""), remote.Unmap().WithZone("")
	n := bth.UDPHeaderLen + len(out) + bth.ICRCLen
	var seed uint32
	if src.Is4() {
		h := bth.Header4{Src: src.As4(), Dst: dst.As4(), FlagsFragment: packet.DontFragment, SrcPort: srcPort, DstPort: packet.Port, UDPLen: n}
		seed = h.Seed() ^ bth.IDSeed(0)
	} else {
		h := bth.Header6{Src: src.As16(), Dst: dst.As16(), SrcPort: srcPort, DstPort: packet.Port, UDPLen: n}
		seed = h.Seed()
	}
	return bth.AppendICRC(out, bth.ICRC(seed, out))
}
