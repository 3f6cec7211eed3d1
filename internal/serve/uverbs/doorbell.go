//go:build linux

package uverbs

import (
	"encoding/binary"
	"slices"
	"sync"

	"github.com/gorxe/gorxe/internal/host/ringfile"
	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// bells maps the doorbells of a program to queue pairs. It has its own lock, because a call of
// the program may hold that of the context for as long as the program delays an access to its
// memory.
type bells struct {
	mu  sync.Mutex
	qps map[uint32]*verbs.QP // by handle; guarded by mu

	// Of the goroutine that answers doorbells.
	buf  [ringfile.MaxDoorbells]byte
	rung []*verbs.QP
}

// A doorbell is the command POST_SEND as librxe writes it: struct ib_uverbs_cmd_hdr and struct
// ib_uverbs_post_send.
const (
	doorbellSize   = 32 // bytes
	doorbellHandle = 16 // offset of qp_handle
)

// fewQPs is the number of queue pairs up to which all are polled, which costs less than reading
// the doorbells.
const fewQPs = 2

func (b *bells) add(handle uint32, q *verbs.QP) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.qps == nil {
		b.qps = map[uint32]*verbs.QP{}
	}
	b.qps[handle] = q
}

func (b *bells) remove(handle uint32) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.qps, handle)
}

func (b *bells) few() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.qps) <= fewQPs
}

// A refusal is an order to refuse doorbells, or to accept them again.
type refusal struct {
	refuse bool
	done   chan struct{} // closed when it is done
}

// setReady records whether q is in RTS or a later state. While no queue pair of the context is,
// doorbells are refused: a post fails with EINVAL, as one to any queue pair before RTS does in
// the kernel (rxe_post_send of drivers/infiniband/sw/rxe/rxe_verbs.c). All queue pairs share the
// position of doorbells, so a post to one before RTS succeeds if another one is in RTS, and stays
// in its ring. The caller holds the context's lock.
func (c *Context) setReady(q *queuePair, ready bool) {
	if q.ready == ready {
		return
	}
	before := c.ready
	q.ready = ready
	if ready {
		c.ready++
	} else {
		c.ready--
	}
	if min(before, c.ready) == 0 {
		c.refuseDoorbells(c.ready == 0)
	}
}

// refuseDoorbells makes doorbells fail, or accepts them again, before it returns. While the
// context is open, it waits for a write of the program that is in progress.
func (c *Context) refuseDoorbells(refuse bool) {
	r := refusal{refuse, make(chan struct{})}
	select {
	case c.refusals <- r:
	case <-c.done:
		return
	}
	select {
	case <-r.done:
	case <-c.done:
	}
}

// answer makes the queue pairs of the program's doorbells fetch. If the doorbells are incomplete,
// or one is no command of librxe, it makes all queue pairs fetch, which only costs time.
func (b *bells) answer(f *ringfile.File) {
	buf := b.buf[:]
	if b.few() {
		buf = nil
	}
	written, complete := f.Doorbells(buf)
	b.rung = b.rung[:0]
	b.mu.Lock()
	if !complete || !b.named(written) {
		b.rung = b.rung[:0]
		for _, q := range b.qps {
			b.rung = append(b.rung, q)
		}
	}
	b.mu.Unlock()
	for _, q := range b.rung {
		// The error is ignored: it means that the queue pair has been destroyed.
		_ = q.Doorbell()
	}
	clear(b.rung) // so that it retains no queue pairs
}

// named adds the queue pairs that doorbells name to rung, once each. It returns false if a
// doorbell is unknown. The caller holds the lock.
func (b *bells) named(written []byte) bool {
	for ; len(written) >= doorbellSize; written = written[doorbellSize:] {
		if uapi.Command(binary.NativeEndian.Uint32(written)) != uapi.CmdPostSend {
			return false
		}
		// The queue pair may have been destroyed.
		q := b.qps[binary.NativeEndian.Uint32(written[doorbellHandle:])]
		if q != nil && !slices.Contains(b.rung, q) {
			b.rung = append(b.rung, q)
		}
	}
	return len(written) == 0
}
