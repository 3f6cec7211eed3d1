package pingpong

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Content of messages in ibv_rc_pingpong and ibv_uc_pingpong: the buffer is filled with fillByte.
// With -c the client sets the first byte of every page to 0 before the first message, and the
// server checks these bytes after the last one. A tool receives into the buffer that it sends from,
// so its next message contains what the peer has sent.
const (
	fillByte = 0x7b
	pageSize = 4096
)

// fillStock fills b like the initial buffer of a stock tool; with chk, like that of a client with
// -c.
func fillStock(b []byte, chk bool) {
	for i := range b {
		b[i] = fillByte
	}
	if chk {
		zeroPages(b)
	}
}

// zeroPages sets the first byte of every page to the value that a stock server with -c expects.
func zeroPages(b []byte) {
	for i := 0; i < len(b); i += pageSize {
		b[i] = 0
	}
}

// fillPattern fills b with the message that a gorxe of this role sends in this iteration with -c.
// Every 8 bytes depend on role, iteration and offset, so that stale, lost or misplaced data is
// detected.
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

// checker checks received messages. A stock peer echoes; a gorxe with -c sends its own pattern; a
// stock client that has received nothing yet sends its initial buffer.
type checker struct {
	role exchange.Role // role of this end
	want []byte
}

// check returns an error with the first wrong byte of got, the message received in iteration
// iter. sent is the last message that this end had sent before the peer sent got, nil if there is
// none.
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
	// Report the difference from the candidate with the longest common prefix.
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
