package socket

import "encoding/binary"

// A vnetHeader is struct virtio_net_hdr of linux/virtio_net.h, in the byte order of the host: what stands before a frame on a packet
// socket with PACKET_VNET_HDR. It says whether the frame is a train, and what a device is to do about its checksum.
const (
	vnetLen = 10

	// Places of its fields.
	vnetFlags, vnetGSOType, vnetHeaderLen, vnetGSOSize, vnetChecksumStart, vnetChecksumAt = 0, 1, 2, 4, 6, 8

	vnetNeedsChecksum = 1    // VIRTIO_NET_HDR_F_NEEDS_CSUM
	gsoUDPL4          = 5    // VIRTIO_NET_HDR_GSO_UDP_L4, known since Linux 6.2
	vnetECN           = 0x80 // VIRTIO_NET_HDR_GSO_ECN
)

// putTrain fills in the header of a train, whose headers (up to and with UDP) have the given length, cut into segments
// of size bytes of UDP payload. The device completes the checksum of each.
func putTrain(vnet []byte, headers, size int) {
	const udpLen, checksumAt = 8, 6
	vnet[vnetFlags], vnet[vnetGSOType] = vnetNeedsChecksum, gsoUDPL4
	binary.NativeEndian.PutUint16(vnet[vnetHeaderLen:], uint16(headers))
	binary.NativeEndian.PutUint16(vnet[vnetGSOSize:], uint16(size))
	binary.NativeEndian.PutUint16(vnet[vnetChecksumStart:], uint16(headers-udpLen))
	binary.NativeEndian.PutUint16(vnet[vnetChecksumAt:], checksumAt)
}
