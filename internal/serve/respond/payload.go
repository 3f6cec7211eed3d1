package respond

import (
	"bytes"
	"fmt"
	"log/slog"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/verbs"
)

// payloadStep is the cache line size of perftest in bytes. Its messages start at multiples of this
// size, at both ends.
const payloadStep = 64

// CheckPayload returns an error if p cannot be searched for in the memory of sessions.
func CheckPayload(p []byte) error {
	if len(p) < 4 || payloadStep%len(p) != 0 {
		return fmt.Errorf("the payload has %d bytes: give it 4, 8, 16, 32 or 64, so that each message, which begins at a multiple of %d, begins with the payload", len(p), payloadStep)
	}
	return nil
}

// checkDepth is the number of receives of a queue pair when payload is checked and each receive has
// its own slot of memory: enough for a client that does not wait, and few enough for messages of 64
// KiB in the default memory.
const checkDepth = 16

// pattern is a repeated payload, and its complement, which is the initial contents of memory: a
// byte that was never written differs from the expected one in every bit.
type pattern struct {
	recvLen        int // length of a receive in bytes
	payload, blank []byte
}

// newPattern returns nil if there is no payload.
func newPattern(l *Limits) *pattern {
	if len(l.Payload) == 0 {
		return nil
	}
	p := &pattern{recvLen: int(l.Memory/uint64(checkDepth*l.QPs)) &^ (payloadStep - 1)}
	n := max(p.recvLen, chunk)
	p.payload = bytes.Repeat(l.Payload, n/len(l.Payload))
	p.blank = make([]byte, n)
	for i, b := range p.payload {
		p.blank[i] = ^b
	}
	return p
}

// check searches for the payload in a session's memory. Slots start at multiples of payloadStep, as
// do messages, so the expected byte at an offset does not depend on the queue pair. It is used by
// the goroutine that handles completions, and by run after that goroutine has ended.
type check struct {
	*pattern
	count     *counters
	mem       *blankMemory
	payloadMR *verbs.MR // region of the payload: the answer to a right message is sent from it
	buf       []byte

	messages, right uint64 // right messages, and right bytes
	wrong           *wrong
}

// wrong is the first byte that differs from the payload, and the number of wrong bytes.
type wrong struct {
	where     string
	offset    uint64
	got, want byte
	bytes     uint64
}

func (w *wrong) Error() string {
	text := fmt.Sprintf("byte %d of %s is %#02x, want %#02x", w.offset, w.where, w.got, w.want)
	if w.got == ^w.want {
		text += ": nothing was written there"
	}
	return text
}

// newCheck returns a check of mem, to which nothing has been written yet. Peers must access mem
// through the mem of the check, which makes it blank.
func (p *pattern) newCheck(count *counters, mem mr.Memory) *check {
	return &check{pattern: p, count: count, mem: newBlankMemory(mem, p.blank), buf: make([]byte, chunk)}
}

func (c *check) clear(off, n uint64) error {
	for end := off + n; off < end; off += chunk {
		if err := c.mem.WriteAt(c.blank[:min(chunk, end-off)], off); err != nil {
			return err
		}
	}
	return nil
}

// each reads the n bytes at off and calls f with each chunk of them. f must not retain the chunk.
func (c *check) each(off, n uint64, f func(at uint64, piece []byte)) error {
	for end := off + n; off < end; off += chunk {
		piece := c.buf[:min(chunk, end-off)]
		if err := c.mem.ReadAt(piece, off); err != nil {
			return err
		}
		f(off, piece)
	}
	return nil
}

func (c *check) countRight(right uint64) {
	c.right += right
	c.count.checkedBytes.Add(right)
}

// offset returns the offset in memory of a slot of queue pair number queue.
func (c *check) offset(queue, slot int) int { return (queue*checkDepth + slot) * c.recvLen }

// checkMessage compares a received message and makes its whole slot blank again, since a lost
// packet can leave a gap anywhere. It costs as much as copying the message from the packets.
func (c *check) checkMessage(queue, slot int, length uint32) error {
	begin := uint64(c.offset(queue, slot))
	err := c.each(begin, uint64(length), func(at uint64, piece []byte) {
		if bytes.Equal(piece, c.payload[:len(piece)]) {
			c.countRight(uint64(len(piece)))
			return
		}
		c.compare(fmt.Sprintf("message %d", c.messages+1), at-begin, piece, false)
	})
	switch {
	case err != nil:
		return err
	case c.wrong != nil:
		return &earlyEnd{wrongPayload, c.wrong}
	}
	c.messages++
	c.count.checkedMessages.Add(1)
	return c.clear(begin, uint64(length))
}

// compare counts the right and the wrong bytes of piece, which is at offset at of where. With
// blank, bytes that were never written are neither right nor wrong.
func (c *check) compare(where string, at uint64, piece []byte, blank bool) {
	right := uint64(0)
	for i, got := range piece {
		switch {
		case got == c.payload[i]:
			right++
		case blank && got == c.blank[i]:
		case c.wrong == nil:
			c.wrong = &wrong{where, at + uint64(i), got, c.payload[i], 1}
		default:
			c.wrong.bytes++
		}
	}
	c.countRight(right)
}

// checkWritten compares the memory that WRITEs have written; checkMessage has made the slots of
// SENDs blank. Chunks that were never written are not read.
func (c *check) checkWritten() error {
	var err error
	if c.wrong == nil {
		err = c.mem.eachFilled(func(off, n uint64) error {
			return c.each(off, n, func(at uint64, piece []byte) {
				if !bytes.Equal(piece, c.blank[:len(piece)]) {
					c.compare("the memory", at, piece, true)
				}
			})
		})
	}
	if c.wrong != nil {
		return &earlyEnd{wrongPayload, c.wrong}
	}
	return err
}

// report logs the result.
func (c *check) report(log *slog.Logger) {
	if w := c.wrong; w != nil {
		log.Warn("wrong payload", "offset", w.offset, "of", w.where, "got", fmt.Sprintf("%#02x", w.got), "want",
			fmt.Sprintf("%#02x", w.want), "wrong_bytes", w.bytes)
	}
	log.Info("payload checked", "messages_checked", c.messages, "bytes_checked", c.right)
}

// drainCompletions handles the completions that were not polled when the session ended, and checks
// their messages.
func (s *session) drainCompletions() {
	if s.cq == nil {
		return
	}
	var wc [64]verbs.WC
	for n := s.cq.Poll(wc[:]); n > 0; n = s.cq.Poll(wc[:]) {
		for i := range wc[:n] {
			switch q := s.queueAt(queueOf(wc[i].WRID)); {
			case wc[i].Status != verbs.WCSuccess:
				_ = s.failed(q, &wc[i]) // run reports it
			case s.check != nil && s.check.wrong == nil && wc[i].Opcode == verbs.WCRecv:
				_ = s.check.checkMessage(q.index, slotOf(wc[i].WRID), wc[i].ByteLen) // checkWritten reports it
			}
		}
	}
}
