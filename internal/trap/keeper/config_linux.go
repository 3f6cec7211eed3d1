//go:build linux && (amd64 || arm64)

package keeper

import "errors"

// Config is what a keeper is told by the supervisor, in a file.
type Config struct {
	Path    string
	Args    []string // with argv[0]
	Filter  []byte   // struct sock_filter of the kernel, one after the other
	Ignored uint64   // signals that the program begins with ignored: bit n-1 for signal n
}

// Encode returns the content of the file: fields with their lengths before them.
func (c *Config) Encode() []byte {
	out := appendNumber(nil, c.Ignored, 8)
	out = appendField(out, c.Filter)
	out = appendField(out, c.Path)
	for _, a := range c.Args {
		out = appendField(out, a)
	}
	return out
}

func appendField[T string | []byte](out []byte, field T) []byte {
	return append(appendNumber(out, uint64(len(field)), 4), field...)
}

// appendNumber appends a number of size bytes, little-endian. Package encoding/binary is initialized
// late.
func appendNumber(out []byte, n uint64, size int) []byte {
	for range size {
		out = append(out, byte(n))
		n >>= 8
	}
	return out
}

// number is the reverse of appendNumber.
func number(p []byte) (n uint64) {
	for i, b := range p {
		n |= uint64(b) << (8 * i)
	}
	return n
}

var errConfig = errors.New("keeper: bad configuration")

// decode is the reverse of Encode.
func decode(p []byte) (*Config, error) {
	if len(p) < 8 {
		return nil, errConfig
	}
	c := &Config{Ignored: number(p[:8])}
	p = p[8:]
	for i := 0; len(p) > 0; i++ {
		if len(p) < 4 {
			return nil, errConfig
		}
		n := number(p[:4])
		if p = p[4:]; n > uint64(len(p)) {
			return nil, errConfig
		}
		switch field := p[:n]; i {
		case 0:
			c.Filter = field
		case 1:
			c.Path = string(field)
		default:
			c.Args = append(c.Args, string(field))
		}
		p = p[n:]
	}
	if len(c.Filter) == 0 || len(c.Filter)%instructionSize != 0 || len(c.Args) == 0 {
		return nil, errConfig
	}
	return c, nil
}
