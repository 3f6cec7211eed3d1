package rping

import (
	"bytes"
	"fmt"
)

// The characters of a ping cycle from 'A' to 'z'; each ping starts one character later.
const (
	firstChar = 'A'
	numChars  = 'z' - 'A' + 1
)

// fill writes the n-th ping, counted from 0: a heading, characters, and a final zero.
func fill(p []byte, n uint64) {
	c := n % numChars
	for i := copy(p, fmt.Sprintf("rdma-ping-%d: ", n)); i < len(p); i++ {
		p[i] = byte(firstChar + c)
		c = (c + 1) % numChars
	}
	p[len(p)-1] = 0
}

// text returns the bytes before the first zero of p.
func text(p []byte) []byte {
	if i := bytes.IndexByte(p, 0); i >= 0 {
		return p[:i]
	}
	return p
}
