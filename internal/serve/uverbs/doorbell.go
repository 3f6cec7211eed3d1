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

// bells finds the queue pairs that a program's doorbells name. It has a lock of its own: a call of the program may
// hold that of the context for as long as the program delays an access to its memory.
type bells struct {
	mu  sync.Mutex
	qps map[uint32]*verbs.QP // by handle; guarded by mu

	// Of the goroutine that answers.
	buf  [ringfile.MaxDoorbells]byte
	rung []*verbs.QP
}

// A doorbell is the command POST_SEND as librxe writes it: struct ib_uverbs_cmd_hdr and struct ib_uverbs_post_send.
const (
	doorbellSize   = 32 // bytes
	doorbellHandle = 16 // offset of qp_handle
)

// fewQPs is the number of queue pairs up to which all are looked at, which costs less than to read the doorbells.
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
	done   chan struct{} // closed when it is obeyed
}

// setReady notes whether q is in RTS or a later state. As long as no queue pair of the context is,
// doorbells are refused: a post fails with EINVAL, as that to any queue pair before RTS does in the
// kernel (rxe_post_send of drivers/infiniband/sw/rxe/rxe_verbs.c). All queue pairs share the
// position of doorbells, so a post to one before RTS succeeds beside another one in RTS, and waits
// in its ring. The lock of the context is held.
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

// refuseDoorbells refuses doorbells from its return on, or accepts them. While the context is open,
// it waits for a write of the program that is under way.
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

// answer lets the queue pairs fetch that the program's doorbells name. Where not all doorbells are known, or one is
// no command of librxe, these are all queue pairs: one that has nothing to fetch only costs time.
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
		// The error is of a queue pair that was destroyed meanwhile.
		_ = q.Doorbell()
	}
	clear(b.rung) // so that it holds no queue pairs
}

// named enters the queue pairs that doorbells name into rung, once each. It is false if there is one that it does
// not know. The lock is held.
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
