package xsk

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// chunkLen is the piece of memory that the kernel fills or sends at a time, in bytes.
	chunkLen = 4096
	// chunkRoom is what a chunk takes of a frame that comes, in bytes: the kernel leaves room before it.
	chunkRoom = chunkLen - unix.XDP_PACKET_HEADROOM
	// OneBuffer is the longest frame, in bytes, that is in one buffer with every driver: those that use pages keep some of
	// them for themselves (320 bytes in veth), and a frame in two buffers is not redirected before Linux 6.6.
	OneBuffer = chunkRoom - 512
	// chunksPerSlot is how many chunks make room for a frame to send, where frames may be in several.
	chunksPerSlot = 2
)

// Sizes of all queues of an interface together, in chunks, and the least and most of one of them. They are powers of two.
const (
	rxChunksAll, rxChunksLeast, rxChunksMost = 8192, 512, 4096
	txSlotsAll, txSlotsLeast, txSlotsMost    = 1024, 128, 512
)

// share is what one of n queues gets.
func share(all, least, most, n int) int {
	for all/n < most && most > least {
		most /= 2
	}
	return most
}

// queue is the memory of one receive queue, the UMEM, which the sockets of all endpoints share. Its first chunks go round
// through the fill ring and the sockets' receive rings; those after them are slots for frames to send, which go through
// the sockets' send rings and the completion ring.
type queue struct {
	number   int
	owner    *socket // that the memory is registered with
	rxChunks int
	txSlots  int
	slotLen  int // in bytes

	memory sync.Mutex // guards what follows; held for moments
	mem    []byte
	fill   producer
	fillAt []uint64
	wanted *uint32 // flags of the kernel's, of fill
	lent   int     // chunks that a Held has
	over   bool    // no socket is left

	sending sync.Mutex // guards what follows
	done    consumer
	doneAt  []uint64
	free    []uint32 // slots
	flying  []uint8  // of each slot: chunks that the kernel has
}

// newQueue makes the memory of a queue and registers it with a socket of its own, which is not bound yet.
func newQueue(number, queues int, several bool) (_ *queue, err error) {
	q := &queue{
		number: number, slotLen: chunkLen,
		rxChunks: share(rxChunksAll, rxChunksLeast, rxChunksMost, queues),
		txSlots:  share(txSlotsAll, txSlotsLeast, txSlotsMost, queues),
	}
	if several {
		q.slotLen *= chunksPerSlot
	}
	size := q.rxChunks*chunkLen + q.txSlots*q.slotLen
	if q.mem, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
		return nil, fmt.Errorf("%d bytes of memory: %w", size, err)
	}
	defer func() {
		if err != nil {
			q.close()
		}
	}()
	if q.owner, err = newSocket(); err != nil {
		return nil, err
	}
	reg := unix.XDPUmemReg{Addr: uint64(uintptr(unsafe.Pointer(&q.mem[0]))), Len: uint64(size), Size: chunkLen}
	if err = setsockopt(q.owner.fd, unix.XDP_UMEM_REG, &reg); err != nil {
		return nil, fmt.Errorf("XDP_UMEM_REG of %d bytes, which counts as locked memory (ulimit -l, or CAP_IPC_LOCK): %w", size, err)
	}
	if err = q.setRings(); err != nil {
		return nil, err
	}
	q.free, q.flying = make([]uint32, q.txSlots), make([]uint8, q.txSlots)
	for i := range q.free {
		// The last one is taken first: the slots that were just sent from are still in the processor's cache.
		q.free[i] = uint32(q.txSlots - 1 - i)
	}
	for i := range q.rxChunks {
		q.fillAt[q.fill.put()] = uint64(i * chunkLen)
	}
	q.fill.publish()
	return q, nil
}

// setRings makes the fill and the completion ring, with room for all that can be in them.
func (q *queue) setRings() error {
	s, sent := q.owner, q.txSlots*q.slotLen/chunkLen
	if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_UMEM_FILL_RING, q.rxChunks); err != nil {
		return fmt.Errorf("XDP_UMEM_FILL_RING: %w", err)
	}
	if err := unix.SetsockoptInt(s.fd, unix.SOL_XDP, unix.XDP_UMEM_COMPLETION_RING, sent); err != nil {
		return fmt.Errorf("XDP_UMEM_COMPLETION_RING: %w", err)
	}
	off, err := s.offsets()
	if err != nil {
		return err
	}
	m, err := s.mapRing(unix.XDP_UMEM_PGOFF_FILL_RING, off.Fr, q.rxChunks, 8)
	if err != nil {
		return err
	}
	q.fill = producer{ours: m.producer, theirs: m.consumer, mask: uint32(q.rxChunks - 1)}
	q.fillAt, q.wanted = unsafe.Slice((*uint64)(m.entries), q.rxChunks), m.flags
	if m, err = s.mapRing(unix.XDP_UMEM_PGOFF_COMPLETION_RING, off.Cr, sent, 8); err != nil {
		return err
	}
	q.done = consumer{ours: m.consumer, theirs: m.producer, mask: uint32(sent - 1)}
	q.doneAt = unsafe.Slice((*uint64)(m.entries), sent)
	return nil
}

// bind binds the socket that the memory is registered with, for several chunks a frame if the slots are made for it. The
// driver is asked to move frames without copying, unless copying is to be.
func (q *queue) bind(ifindex int, copying bool) error {
	flags := uint16(unix.XDP_USE_NEED_WAKEUP)
	if q.slotLen > chunkLen {
		flags |= unix.XDP_USE_SG
	}
	if copying {
		flags |= unix.XDP_COPY
	}
	return unix.Bind(q.owner.fd, &unix.SockaddrXDP{Flags: flags, Ifindex: uint32(ifindex), QueueID: uint32(q.number)})
}

// socket makes another socket that shares the memory.
func (q *queue) socket(ifindex int) (*socket, error) {
	s, err := newSocket()
	if err != nil {
		return nil, err
	}
	if err = s.setRings(q.rxRing(), q.txRing()); err == nil {
		err = unix.Bind(s.fd, &unix.SockaddrXDP{
			Flags: unix.XDP_SHARED_UMEM, Ifindex: uint32(ifindex), QueueID: uint32(q.number), SharedUmemFD: uint32(q.owner.fd),
		})
		if err != nil {
			err = fmt.Errorf("binding another socket to queue %d: %w", q.number, err)
		}
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// rxRing and txRing are the sizes of a socket's rings: what there is fits into one of them.
func (q *queue) rxRing() int { return q.rxChunks }
func (q *queue) txRing() int { return q.txSlots * q.slotLen / chunkLen }

// giveBack lets the kernel fill chunks again, given by any address in them.
func (q *queue) giveBack(chunks []uint64) {
	if len(chunks) == 0 {
		return
	}
	q.memory.Lock()
	defer q.memory.Unlock()
	q.lent -= len(chunks)
	if q.over {
		q.unmap()
		return
	}
	// All chunks fit into the ring.
	for _, at := range chunks {
		q.fillAt[q.fill.put()] = at &^ (chunkLen - 1)
	}
	q.fill.publish()
	if atomic.LoadUint32(q.wanted)&unix.XDP_RING_NEED_WAKEUP != 0 {
		q.owner.wake()
	}
}

// lend takes note of n chunks that were taken out of a receive ring.
func (q *queue) lend(n int) {
	q.memory.Lock()
	defer q.memory.Unlock()
	q.lent += n
}

// close closes the socket, after all others. The memory goes when no frame in it is looked at any more.
func (q *queue) close() {
	q.memory.Lock()
	defer q.memory.Unlock()
	if q.owner != nil {
		q.owner.close()
	}
	q.over = true
	q.unmap()
}

func (q *queue) unmap() {
	if q.lent == 0 && q.mem != nil {
		_ = unix.Munmap(q.mem)
		q.mem = nil
	}
}

// slotAt is where slot i begins in the memory.
func (q *queue) slotAt(i uint32) int { return q.rxChunks*chunkLen + int(i)*q.slotLen }

// reap takes back the slots that were sent, and reports whether there were any. sending is held.
func (q *queue) reap() bool {
	n := q.done.ready(1)
	for range n {
		at := int(q.doneAt[q.done.get()]) - q.rxChunks*chunkLen
		i := at / q.slotLen
		if q.flying[i]--; q.flying[i] == 0 {
			q.free = append(q.free, uint32(i))
		}
	}
	if n > 0 {
		q.done.release()
	}
	return n > 0
}
