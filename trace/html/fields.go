package html

import (
	"fmt"
	"math/bits"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fields"
)

// group is a header with its fields, as name and value.
type group struct {
	Name   string      `json:"n"`
	Fields [][2]string `json:"f"`
}

// omittedHeaders are the headers that function headers leaves out: packet has their fields as
// numbers, or has none of them (MAD).
var omittedHeaders = map[string]bool{"IP": true, "UDP": true, "BTH": true, "MAD": true, fields.Payload: true,
	fields.ICRC: true}

// headers returns the other headers of a packet, in wire order.
func headers(k *trace.Packet) (out []group) {
	for _, f := range fields.Append(nil, k) {
		if omittedHeaders[f.Header] {
			continue
		}
		if n := len(out); n == 0 || out[n-1].Name != f.Header {
			out = append(out, group{Name: f.Header})
		}
		g := &out[len(out)-1]
		g.Fields = append(g.Fields, [2]string{f.Name, f.Value})
	}
	return out
}

func hexOf[T ~uint8 | ~uint16 | ~uint32 | ~uint64](v T, digits int) string {
	return fmt.Sprintf("0x%0*x", digits, uint64(v))
}

// sentBytes formats an ICRC in wire byte order, as Wireshark does.
func sentBytes(icrc uint32) string { return hexOf(bits.ReverseBytes32(icrc), 8) }
