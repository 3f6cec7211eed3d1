package socket

import "github.com/gorxe/gorxe/packet"

const (
	// maxSegments is the most segments a train may have on every kernel that knows UDP_SEGMENT.
	maxSegments = 64
	// maxTrain bounds a train's UDP payload in bytes, so that with all its headers it stays under the 64 KiB which
	// devices take in one piece: past that the kernel cuts it up itself, at a cost.
	maxTrain = 65536 - 256
	// maxPieces is the most pieces the kernel gathers into one message (IOV_MAX).
	maxPieces = 1024
)

// piecesOf is the most pieces f is gathered from once it is sealed.
func piecesOf(f *packet.Frame) int { return 2 + len(f.Payload) }

// flatten gathers the payload of f into one piece of its batch's memory.
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

// trainFrom returns how many frames of b, from frame i on, can leave as the segments of one train: of one path, which is to say of
// one queue pair, as a host that receives by several queues puts a train into that of its first frame; and equal in length,
// the last of them perhaps shorter. maxLen is the longest UDP payload one segment may have.
// What sealing may yet add to the trailers is reckoned in.
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

// trainAt is how many frames Prepare joined to the train that frame i leads.
func trainAt(b *packet.Batch, i int) int { return min(max(b.At(i).Train, 1), b.Len()-i) }

// appendSegments appends msg to dst as the frames it consists of: segments of size bytes, the last perhaps shorter.
// size 0 means that msg is one frame. Over IPv4 the sender's usual identification of each is filled in, counting from that of
// msg, which is the only one that may have been seen.
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
