package xsk

import (
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// chunkLen is the length of a UMEM chunk in bytes.
	chunkLen = 4096
	// chunkRoom is the maximum length of a received frame in a chunk: the kernel reserves
	// headroom.
	chunkRoom = chunkLen - unix.XDP_PACKET_HEADROOM
	// OneBuffer is the maximum length of a frame, in bytes, that fits in one buffer with every
	// driver: drivers that use pages reserve a part of them (veth: 320 bytes), and before Linux
	// 6.6 frames in two buffers are not redirected.
	OneBuffer = chunkRoom - 512
	// chunksPerSlot is the number of chunks of a send slot if frames may consist of several
	// chunks.
	chunksPerSlot = 2
)

// Total number of chunks or slots of all queues of an interface, and the minimum and maximum of
// one queue. All are powers of two.
const (
	rxChunksAll, minRxChunks, maxRxChunks = 8192, 512, 4096
	txSlotsAll, minTxSlots, maxTxSlots    = 1024, 128, 512
)

// perQueue returns the number of chunks or slots of each of n queues: all is the total, least and
// most are the limits of one queue.
func perQueue(all, least, most, n int) int {
	for all/n < most && most > least {
		most /= 2
	}
	return most
}

// queue is the memory of one receive queue, the UMEM, which the sockets of all endpoints share.
// Its first chunks cycle through the fill ring and the receive rings of the sockets. The rest
// are slots for outgoing frames, which cycle through the send rings of the sockets and the
// completion ring.
type queue struct {
	number   int
	owner    *socket // socket that the UMEM is registered with
	rxChunks int
	txSlots  int
	slotLen  int // in bytes

	memory sync.Mutex // guards the following fields; held briefly
	mem    []byte
	fill   producer
	fillAt []uint64
	wanted *uint32 // flags of the fill ring, written by the kernel
	onLoan int     // number of chunks that loans hold
	closed bool    // owner is closed

	sending  sync.Mutex // guards the following fields
	done     consumer
	doneAt   []uint64
	free     []uint32 // free slots
	inFlight []uint8  // for each slot, number of chunks that the kernel holds
}

// newQueue allocates the memory of a queue and registers it with a socket that is not bound
// yet.
func newQueue(number, queues int, several bool) (_ *queue, err error) {
	q := &queue{
		number: number, slotLen: chunkLen,
		rxChunks: perQueue(rxChunksAll, minRxChunks, maxRxChunks, queues),
		txSlots:  perQueue(txSlotsAll, minTxSlots, maxTxSlots, queues),
	}
	if several {
		q.slotLen *= chunksPerSlot
	}
	size := q.rxChunks*chunkLen + q.txSlots*q.slotLen
	if q.mem, err = unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_POPULATE); err != nil {
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
		return nil, fmt.Errorf(
			"XDP_UMEM_REG of %d bytes, which counts as locked memory (ulimit -l, or CAP_IPC_LOCK): %w", size, err)
	}
	if err = q.setRings(); err != nil {
		return nil, err
	}
	q.free, q.inFlight = make([]uint32, q.txSlots), make([]uint8, q.txSlots)
	for i := range q.free {
		// The last slot is used first: the slot used most recently is still in the processor's
		// cache.
		q.free[i] = uint32(q.txSlots - 1 - i)
	}
	for i := range q.rxChunks {
		q.fillAt[q.fill.put()] = uint64(i * chunkLen)
	}
	q.fill.publish()
	return q, nil
}

// setRings creates the fill and completion rings, each large enough for all its possible
// entries.
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

// bind binds the owner socket. It requests frames of several chunks if a slot has several chunks.
// The driver selects zero-copy if it can, unless copying is set.
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

// socket creates another socket that shares the memory.
func (q *queue) socket(ifindex int) (*socket, error) {
	s, err := newSocket()
	if err != nil {
		return nil, err
	}
	if err = s.setRings(q.rxRing(), q.txRing()); err == nil {
		err = unix.Bind(s.fd, &unix.SockaddrXDP{
			Flags: unix.XDP_SHARED_UMEM, Ifindex: uint32(ifindex), QueueID: uint32(q.number),
			SharedUmemFD: uint32(q.owner.fd),
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

// rxRing and txRing return the sizes of a socket's rings in entries, each large enough for all
// chunks or slots.
func (q *queue) rxRing() int { return q.rxChunks }
func (q *queue) txRing() int { return q.txSlots * q.slotLen / chunkLen }

// giveBack returns chunks to the fill ring. An element of chunks is any address in the chunk.
func (q *queue) giveBack(chunks []uint64) {
	if len(chunks) == 0 {
		return
	}
	q.memory.Lock()
	defer q.memory.Unlock()
	q.onLoan -= len(chunks)
	if q.closed {
		q.unmap()
		return
	}
	// The ring has space for all chunks.
	for _, at := range chunks {
		q.fillAt[q.fill.put()] = at &^ (chunkLen - 1)
	}
	q.fill.publish()
	if atomic.LoadUint32(q.wanted)&unix.XDP_RING_NEED_WAKEUP != 0 {
		q.owner.wake()
	}
}

// lend records that n chunks were taken from a receive ring.
func (q *queue) lend(n int) {
	q.memory.Lock()
	defer q.memory.Unlock()
	q.onLoan += n
}

// close closes the owner; the other sockets of the queue must already be closed. The memory is
// unmapped when no loan refers to it any more.
func (q *queue) close() {
	q.memory.Lock()
	defer q.memory.Unlock()
	if q.owner != nil {
		q.owner.close()
	}
	q.closed = true
	q.unmap()
}

func (q *queue) unmap() {
	if q.onLoan == 0 && q.mem != nil {
		_ = unix.Munmap(q.mem)
		q.mem = nil
	}
}

// slotAt returns the offset of slot i in the memory.
func (q *queue) slotAt(i uint32) int { return q.rxChunks*chunkLen + int(i)*q.slotLen }

// reap frees the slots whose frames were sent, and reports whether there were any. The caller holds
// sending.
func (q *queue) reap() bool {
	n := q.done.ready(1)
	for range n {
		at := int(q.doneAt[q.done.get()]) - q.rxChunks*chunkLen
		i := at / q.slotLen
		if q.inFlight[i]--; q.inFlight[i] == 0 {
			q.free = append(q.free, uint32(i))
		}
	}
	if n > 0 {
		q.done.release()
	}
	return n > 0
}
