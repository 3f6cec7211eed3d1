package json

import (
	"encoding/hex"
	"fmt"
	"time"
)

// hexBytes are written as hexadecimal digits.
type hexBytes []byte

func (b hexBytes) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b), nil }

// Identifiers, written in hexadecimal with all digits.
type (
	hex16 uint16
	hex32 uint32
	hex64 uint64
)

func (n hex16) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%04x", uint16(n)), nil }
func (n hex32) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%08x", uint32(n)), nil }
func (n hex64) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "0x%016x", uint64(n)), nil }

// instant returns t in UTC, or nil if RFC 3339 cannot represent it: captures may contain any
// time.
func instant(t time.Time) *time.Time {
	t = t.UTC()
	if y := t.Year(); y < 0 || y > 9999 {
		return nil
	}
	return &t
}
