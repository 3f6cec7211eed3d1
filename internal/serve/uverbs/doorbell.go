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

// bells maps the doorbells of a program to queue pairs. It has its own lock, because a call of the
// program may hold the lock of the context for as long as the program delays an access to its
// memory.
type bells struct {
	mu  sync.Mutex
	qps map[uint32]*verbs.QP // by handle; guarded by mu

	// Used only by the goroutine that answers doorbells.
	buf  [ringfile.MaxDoorbells]byte
	rung []*verbs.QP // queue pairs to make fetch
}

// A doorbell is the command POST_SEND as librxe writes it: struct ib_uverbs_cmd_hdr and struct
// ib_uverbs_post_send.
const (
	doorbellSize   = 32 // bytes
	doorbellHandle = 16 // offset of qp_handle
)

// fewQPs is the number of queue pairs up to which all of them fetch at each doorbell, which costs
// less than reading the handles in the doorbells.
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
	done   chan struct{} // closed when the order is executed
}

// setReady records whether q is in RTS or a later state. While no queue pair of the context is,
// doorbells are refused and posts fail with EINVAL; in the kernel, posts to each queue pair before
// RTS fail (rxe_post_send of drivers/infiniband/sw/rxe/rxe_verbs.c). Doorbells can be refused only
// for all queue pairs of the context. If one of them is in RTS, a post to another queue pair before
// RTS succeeds, and the request stays in its ring. The caller holds the context's lock.
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

// refuseDoorbells makes doorbells fail, or accepts them again. It returns when that is done or the
// context ends; a write of the program in progress can delay it.
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
	if !complete || !b.collect(written) {
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

// collect adds the queue pairs that the doorbells in written name to rung, once each. It returns
// false if written contains anything else. The caller holds the lock.
func (b *bells) collect(written []byte) bool {
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
