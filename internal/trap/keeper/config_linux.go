//go:build linux && (amd64 || arm64)

package keeper

import "errors"

// Config is the configuration that the supervisor passes to a keeper in a file.
type Config struct {
	Path    string
	Args    []string // arguments, including argv[0]
	Filter  []byte   // array of struct sock_filter
	Ignored uint64   // signals that the program begins with ignored: bit n-1 for signal n
}

// Encode returns the content of the file: Ignored, then the filter, the path and each argument,
// each with its length before it.
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

// appendNumber appends a number of size bytes, little-endian. Package encoding/binary would be
// initialized after the keeper's init function.
func appendNumber(out []byte, n uint64, size int) []byte {
	for range size {
		out = append(out, byte(n))
		n >>= 8
	}
	return out
}

// number is the inverse of appendNumber.
func number(p []byte) (n uint64) {
	for i, b := range p {
		n |= uint64(b) << (8 * i)
	}
	return n
}

var errConfig = errors.New("keeper: bad configuration")

// decode is the inverse of Encode.
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
