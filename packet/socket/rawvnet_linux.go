package socket

import "encoding/binary"

// The vnet header is struct virtio_net_hdr of linux/virtio_net.h, in host byte order. It precedes a
// frame on a packet socket with PACKET_VNET_HDR. It tells whether the frame is a train, and how its
// checksum must be completed.
//
// A train is one frame with this header (Linux 6.2). The device segments the train; a train to a
// receiver on this host is not segmented. In a received train only the first IPv4 identification
// was in a header. The identifications of the other segments are guessed, as for the udp link.
const (
	vnetLen = 10

	// Field offsets.
	vnetFlags, vnetGSOType, vnetHeaderLen, vnetGSOSize, vnetChecksumStart, vnetChecksumAt = 0, 1, 2, 4, 6, 8

	vnetNeedsChecksum = 1    // VIRTIO_NET_HDR_F_NEEDS_CSUM
	gsoUDPL4          = 5    // VIRTIO_NET_HDR_GSO_UDP_L4, known since Linux 6.2
	vnetECN           = 0x80 // VIRTIO_NET_HDR_GSO_ECN
)

// putTrain fills in the vnet header of a train. headers is the total length of the headers up to
// and including UDP, size the UDP payload per segment, both in bytes. The device completes the
// checksum of each segment.
func putTrain(vnet []byte, headers, size int) {
	const udpLen, checksumAt = 8, 6
	vnet[vnetFlags], vnet[vnetGSOType] = vnetNeedsChecksum, gsoUDPL4
	binary.NativeEndian.PutUint16(vnet[vnetHeaderLen:], uint16(headers))
	binary.NativeEndian.PutUint16(vnet[vnetGSOSize:], uint16(size))
	binary.NativeEndian.PutUint16(vnet[vnetChecksumStart:], uint16(headers-udpLen))
	binary.NativeEndian.PutUint16(vnet[vnetChecksumAt:], checksumAt)
}
