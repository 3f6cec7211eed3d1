package filter

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

// Column formats the values that a field of expressions has in packets. The values of Wireshark's
// fields have the format of tshark -T fields.
type Column struct {
	name   string
	f      *field
	digits int                 // hexadecimal digits; 0 means decimal
	text   func(uint64) string // name of a number; nil for numbers
	unique bool                // a value that occurs twice is shown once
}

// NewColumn returns the Column of the field called name. Case does not matter. The error suggests
// the most similar name.
func NewColumn(name string) (*Column, error) {
	f := fieldOf(name)
	if f == nil {
		return nil, fmt.Errorf("unknown field %q%s", name, suggestion(name))
	}
	name = strings.ToLower(name)
	c := &Column{name: name, f: f, digits: hexDigits[name], unique: !strings.Contains(name, ".")}
	c.text = valueNames[name]
	return c, nil
}

// Name returns the name of the field, in lower case.
func (c *Column) Name() string { return c.name }

// Append calls add for each value of the field in p, in the order of the headers, with an index
// from 0. add returns the buffer to which the value is appended; Append returns the latest one. A
// field without a value, such as error, has the value 1 in packets that it matches, and no value
// in others.
func (c *Column) Append(b []byte, p *trace.Packet, add func(b []byte, index int) []byte) []byte {
	switch f := c.f; {
	case f.is != nil:
		if f.is(p) {
			b = append(add(b, 0), '1')
		}
	case f.addrs != nil:
		a := f.addrs(p)
		for i, addr := range a.v[:a.n] {
			if addr.IsValid() {
				b = fabric.AppendAddr(add(b, i), addr)
			}
		}
	case f.texts != nil:
		n := 0
		for _, k := range f.known {
			if is, _ := f.texts(p, k); is {
				b = append(add(b, n), k...)
				n++
			}
		}
	default:
		b = c.numbers(b, f.numbers(p), add)
	}
	return b
}

// numbers is Append for numeric fields.
func (c *Column) numbers(b []byte, all numbers, add func([]byte, int) []byte) []byte {
	n := 0
values:
	for i, v := range all.v[:all.n] {
		for _, earlier := range all.v[:i] {
			if c.unique && earlier == v {
				continue values
			}
		}
		b = add(b, n)
		n++
		switch {
		case c.text != nil:
			b = append(b, c.text(v)...)
		case c.digits > 0:
			b = appendHex(b, v, c.digits)
		default:
			b = strconv.AppendUint(b, v, 10)
		}
	}
	return b
}

// appendHex appends v with 0x and at least the given number of digits.
func appendHex(b []byte, v uint64, digits int) []byte {
	b = append(b, '0', 'x')
	for i := digits - 1; i > 0 && v>>(4*i) == 0; i-- {
		b = append(b, '0')
	}
	return strconv.AppendUint(b, v, 16)
}

// hexDigits are the hexadecimal digits of the fields that are not decimal. Those of Wireshark's
// fields are from tshark -G fields (BASE_HEX, BASE_HEX_DEC and the width of the type).
var hexDigits = map[string]int{
	"qp": 6, "qpn": 6, "imm": 8,

	"ip.id": 4, "ip.dsfield": 2, "ipv6.tclass": 8,
	"infiniband.bth.destqp": 6, "infiniband.deth.q_key": 16, "infiniband.deth.srcqp": 8,
	"infiniband.reth.va": 16, "infiniband.reth.r_key": 8, "infiniband.invariant.crc": 8,
	"infiniband.mad.attributeid": 4, "infiniband.mad.transactionid": 16,
	"infiniband.cm.req.localqpn": 6, "infiniband.cm.req.serviceid": 16, "infiniband.cm.req.startpsn": 6,
	"infiniband.cm.rep.localqpn": 6, "infiniband.cm.rej.reason": 4,
}

// valueNames name the values of gorxe's own fields. The values of Wireshark's fields are numbers.
var valueNames = map[string]func(uint64) string{
	"opcode":  func(v uint64) string { return bth.Opcode(v).String() },
	"op":      func(v uint64) string { return strings.ToLower(bth.Operation(v).String()) },
	"service": func(v uint64) string { return strings.ToLower(bth.Service(v).String()) },
}
