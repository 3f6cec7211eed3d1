package socket

import "github.com/gorxe/gorxe/packet"

const (
	// maxSegments is the maximum number of segments of a train on all kernels with UDP_SEGMENT.
	maxSegments = 64
	// maxTrain is the maximum UDP payload of a train in bytes. With all headers a train of this
	// size is below 64 KiB, the limit of devices; longer trains are segmented by the kernel in
	// software.
	maxTrain = 65536 - 256
	// maxPieces is the maximum number of pieces that the kernel gathers into one message
	// (IOV_MAX).
	maxPieces = 1024
)

// piecesOf returns the maximum number of pieces of f after sealing: header, payload pieces,
// trailer.
func piecesOf(f *packet.Frame) int { return 2 + len(f.Payload) }

// flatten replaces the payload of f by one contiguous copy in the batch's memory.
func flatten(f *packet.Frame) {
	n := 0
	for _, p := range f.Payload {
		n += len(p)
	}
	flat := f.Alloc(n)[:0]
	for _, p := range f.Payload {
		flat = append(flat, p...)
	}
	clear(f.Payload)
	f.Payload = append(f.Payload[:0], flat)
}

// trainFrom returns how many frames of b, from frame i on, can be sent as one segment train. These
// frames have the same *Path and therefore the same queue pair: a receiver with several queues
// delivers a whole train to the queue of its first frame. They have the same length, except that
// the last may be shorter. maxLen is the maximum UDP payload of a segment in bytes, including pad
// and ICRC, which sealing appends later.
func trainFrom(b *packet.Batch, i, maxLen int) int {
	first := b.At(i)
	size := first.Len()
	room := packet.TrailerRoom - len(first.Trailer)
	total, pieces := size+room, piecesOf(first)
	if size == 0 || first.Path == nil || size+room > maxLen {
		return 1
	}
	n := 1
	for i += 1; i < b.Len() && n < maxSegments; i++ {
		f := b.At(i)
		if f.Path != first.Path {
			break
		}
		l := f.Len()
		total += l + packet.TrailerRoom - len(f.Trailer)
		pieces += piecesOf(f)
		if l > size || l == 0 || total > maxTrain || pieces > maxPieces {
			break
		}
		n++
		if l < size {
			break
		}
	}
	return n
}

// trainAt returns the number of frames in the train that starts at frame i, as set by Prepare.
func trainAt(b *packet.Batch, i int) int { return min(max(b.At(i).Train, 1), b.Len()-i) }

// appendSegments appends the frames of the message msg to dst: segments of size bytes of UDP
// payload; the last may be shorter. size 0 means that msg is one frame. Over IPv4 the segments get
// consecutive identifications, as senders assign them. Only the identification of the first segment
// was in a header, so HeaderSeen is false for the other segments.
func appendSegments(dst []packet.Received, msg packet.Received, size int) []packet.Received {
	if size <= 0 || size >= len(msg.Data) {
		return append(dst, msg)
	}
	data, v4 := msg.Data, msg.Dst.Is4()
	for len(data) > 0 {
		n := min(size, len(data))
		msg.Data, data = data[:n:n], data[n:]
		dst = append(dst, msg)
		if v4 {
			msg.ID++
			msg.HeaderSeen = false
		}
	}
	return dst
}
