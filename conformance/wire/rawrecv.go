package wire

import (
	"encoding/binary"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
)

const (
	etherLen = 14
	// vnetLen is the length of the virtio_net_hdr that precedes a frame (PACKET_VNET_HDR of
	// packet(7)).
	vnetLen = 10

	vnetNeedsSum = 1 // flag: the checksum is not computed yet
	gsoUDP       = 5 // type of a train of UDP datagrams
)

// receivedFrame decodes a frame with a link-layer header of link bytes. It returns several packets
// if the frame is a train, which the kernel of the sender has not cut yet: those that the network
// device would send. It returns none if the frame is neither RoCEv2 nor RoCEv1.
func receivedFrame(vnet, frame []byte, link int) []*Received {
	b := append([]byte(nil), frame[link:]...) // the packets keep it
	if link == etherLen && binary.BigEndian.Uint16(frame[12:]) == etherTypeV1 {
		if r := receivedV1(b); r != nil {
			return []*Received{r}
		}
		return nil
	}
	b = b[:min(ipTotal(b), len(b))]
	n, ok := ipHeader(b)
	if !ok {
		return nil
	}
	if vnet[1] == gsoUDP {
		if size := int(binary.NativeEndian.Uint16(vnet[4:])); size > 0 {
			return cutTrain(b, n, size)
		}
	}
	if vnet[0]&vnetNeedsSum != 0 {
		FixUDP(b)
	}
	return []*Received{receivedIP(b, n)}
}

// ipTotal returns the length of the IP packet in bytes that its header states.
func ipTotal(b []byte) int {
	switch {
	case len(b) >= ip4Len && b[0]>>4 == 4:
		return int(binary.BigEndian.Uint16(b[ip4Total:]))
	case len(b) >= ip6Len && b[0]>>4 == 6:
		return ip6Len + int(binary.BigEndian.Uint16(b[ip6Payload:]))
	}
	return 0
}

// cutTrain returns the packets of a train with size bytes of UDP payload each, except the last.
// head is the length of the IP header. IPv4 identifications increase by 1, as those of Linux do.
func cutTrain(b []byte, head, size int) (all []*Received) {
	be := binary.BigEndian
	for at := head + udpLen; at < len(b); at += size {
		part := b[at:min(at+size, len(b))]
		ip := append(append([]byte(nil), b[:head+udpLen]...), part...)
		if ip[0]>>4 == 4 {
			be.PutUint16(ip[ip4Total:], uint16(len(ip)))
			be.PutUint16(ip[ip4ID:], be.Uint16(b[ip4ID:])+uint16(len(all)))
			fixIPv4(ip)
		} else {
			be.PutUint16(ip[ip6Payload:], uint16(len(ip)-head))
		}
		be.PutUint16(ip[head+udpLength:], uint16(len(ip)-head))
		all = append(all, receivedIP(FixUDP(ip), head))
	}
	return all
}

// receivedIP decodes a UDP packet with an IP header of head bytes.
func receivedIP(ip []byte, head int) *Received {
	var src, dst []byte
	r := &Received{IP: ip, Bytes: ip[head+udpLen:]}
	if ip[0]>>4 == 4 {
		src, dst = ip[12:16], ip[16:20]
		r.TOS, r.TTL = ip[1], ip[8]
	} else {
		src, dst = ip[8:24], ip[24:40]
		r.TOS, r.TTL = ip[0]<<4|ip[1]>>4, ip[7]
	}
	port := func(b []byte, at int) netip.AddrPort {
		a, _ := netip.AddrFromSlice(b)
		return netip.AddrPortFrom(a, binary.BigEndian.Uint16(ip[head+at:]))
	}
	r.Src, r.Dst = port(src, 0), port(dst, 2)
	// The UDP length bounds the payload, if it is not longer than the packet.
	if n := int(binary.BigEndian.Uint16(ip[head+udpLength:])); n >= udpLen+bth.BTHLen && n <= len(ip)-head {
		r.Bytes = ip[head+udpLen:][:n-udpLen]
	}
	r.decode()
	return r
}
