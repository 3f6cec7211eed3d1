package pingpong

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// What ibv_rc_pingpong and ibv_uc_pingpong put into their messages: the buffer is full of fillByte; with -c the client
// sets the first byte of every page to 0 before the first message, and the server looks at these bytes after the last. As it receives into the
// buffer it sends from, whatever a peer sends comes back with the next message.
const (
	fillByte = 0x7b
	pageSize = 4096
)

// fillStock makes b what a stock tool's buffer is at first.
func fillStock(b []byte, chk bool) {
	for i := range b {
		b[i] = fillByte
	}
	if chk {
		zeroPages(b)
	}
}

// zeroPages gives the first byte of every page the value that a stock server with -c wants to see.
func zeroPages(b []byte) {
	for i := 0; i < len(b); i += pageSize {
		b[i] = 0
	}
}

// fillPattern makes b the message that a gorxe of this role sends in this iteration with -c: every 8 bytes depend on
// role, iteration and place, so that no stale, lost or misplaced piece goes unseen.
func fillPattern(b []byte, role exchange.Role, iter int) {
	word := func(i int) uint64 {
		x := uint64(iter)<<33 ^ uint64(role)<<32 ^ uint64(i)
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		return x ^ x>>31
	}
	i := 0
	for ; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], word(i))
	}
	if i < len(b) {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], word(i))
		copy(b[i:], last[:])
	}
	zeroPages(b)
}

// checker knows what may arrive. A stock peer echoes; a gorxe with -c sends its own pattern; before there is anything to
// echo, a stock client sends its fresh buffer.
type checker struct {
	role exchange.Role // of this end
	want []byte
}

// check returns an error that names the first wrong byte of got, the message received in iteration iter. sent is the
// last message this end had sent before the peer sent got, nil if there is none.
func (c *checker) check(got, sent []byte, iter int) error {
	peer := exchange.Client
	if c.role == exchange.Client {
		peer = exchange.Server
	}
	if sent != nil && bytes.Equal(got, sent) {
		return nil
	}
	if c.want == nil {
		c.want = make([]byte, len(got))
	}
	fillPattern(c.want, peer, iter)
	candidates := [][]byte{c.want, sent}
	if sent == nil {
		candidates = [][]byte{c.want, freshStock(len(got), false), freshStock(len(got), true)}
	}
	// Of what it might have been, it is said to be what it resembles longest.
	at, want := -1, byte(0)
	for _, b := range candidates {
		d := app.FirstDiff(got, b)
		if d < 0 {
			return nil
		}
		if d > at {
			at, want = d, b[d]
		}
	}
	return fmt.Errorf("invalid data in message %d: byte %d is %#02x, want %#02x", iter, at, got[at], want)
}

func freshStock(n int, chk bool) []byte {
	b := make([]byte, n)
	fillStock(b, chk)
	return b
}
