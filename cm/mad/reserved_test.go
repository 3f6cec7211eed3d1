package mad_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/cm/mad"
)

// A bitsOf is a set of bits of one byte, counted from the start of the MAD's data.
type bitsOf struct {
	at   int
	mask byte
}

// reserved are the bits of each message without a meaning.
var reserved = map[mad.Attribute][]bitsOf{
	mad.AttrREQ: {
		{4, 0xff}, {24, 0xff}, {25, 0xff}, {26, 0xff}, {27, 0xff},
		{90, 0x0f}, {91, 0xc0}, {94, 0x07}, {95, 0x07}, // primary path
		{134, 0x0f}, {135, 0xc0}, {138, 0x07}, {139, 0x03}, // alternate path
	},
	mad.AttrMRA:     {{8, 0x3f}, {9, 0x07}},
	mad.AttrREJ:     {{8, 0x3f}, {9, 0x01}},
	mad.AttrREP:     {{27, 0x0f}},
	mad.AttrRTU:     {},
	mad.AttrDREQ:    {{11, 0xff}},
	mad.AttrDREP:    {},
	mad.AttrSIDRREQ: {{6, 0xff}, {7, 0xff}},
	mad.AttrSIDRREP: {},
}

// withoutReserved returns the valid MAD b with all bits cleared that have no meaning: reserved
// ones, and the padding of additional information.
func withoutReserved(b []byte) []byte {
	b = bytes.Clone(b)
	clear(b[4:8])
	clear(b[18:20])
	attr := mad.Attribute(uint16(b[16])<<8 | uint16(b[17]))
	data := b[mad.HeaderLen:]
	for _, r := range reserved[attr] {
		data[r.at] &^= r.mask
	}
	switch attr {
	case mad.AttrREJ:
		clear(data[12+data[9]>>1 : 12+mad.InfoLen])
	case mad.AttrSIDRREP:
		clear(data[24+data[5] : 24+mad.InfoLen])
	}
	return b
}

// allOnes returns a message with every bit set that Decode permits.
func allOnes(attr mad.Attribute) []byte {
	b := bytes.Repeat([]byte{0xff}, mad.Len)
	copy(b, []byte{1, 7, 2, 3})
	b[16], b[17] = byte(attr>>8), byte(attr)
	switch data := b[mad.HeaderLen:]; attr {
	case mad.AttrREJ:
		data[9] = mad.InfoLen<<1 | 1
	case mad.AttrSIDRREP:
		data[5] = mad.InfoLen
	}
	return b
}

func TestEveryBitIsCarriedOrReserved(t *testing.T) {
	for attr := range reserved {
		t.Run(attr.String(), func(t *testing.T) {
			b := allOnes(attr)
			want := withoutReserved(b)
			var dirty, clean mad.Message
			if err := dirty.Decode(b); err != nil {
				t.Fatal(mad.Explain(b))
			}
			if err := clean.Decode(want); err != nil {
				t.Fatal(mad.Explain(want))
			}
			if diff := cmp.Diff(clean, dirty); diff != "" {
				t.Errorf("reserved bits change the message (-clean +dirty):\n%s", diff)
			}
			var got [mad.Len]byte
			if err := dirty.Encode(&got); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got[:], want) {
				t.Errorf("Encode(Decode(b))\n got %x\nwant %x", got, want)
			}
		})
	}
}

// One bit at a time, so that two mistakes cannot hide each other.
func TestEveryBitAlone(t *testing.T) {
	for attr := range reserved {
		zero := make([]byte, mad.Len)
		copy(zero, []byte{1, 7, 2, 3})
		zero[16], zero[17] = byte(attr>>8), byte(attr)
		for i := range mad.Len * 8 {
			if at := i / 8; at < 4 || at == 16 || at == 17 {
				continue
			}
			b := bytes.Clone(zero)
			b[i/8] ^= 0x80 >> (i % 8)
			var m mad.Message
			if err := m.Decode(b); err != nil {
				if mad.ReasonOf(err) != mad.ReasonInfoLength {
					t.Errorf("%s, bit %d: %v", attr, i, err)
				}
				continue
			}
			var got [mad.Len]byte
			if err := m.Encode(&got); err != nil {
				t.Errorf("%s, bit %d: %v", attr, i, err)
			}
			if want := withoutReserved(b); !bytes.Equal(got[:], want) {
				t.Errorf("%s, bit %d of byte %d of the data\n got %x\nwant %x", attr, i%8, i/8-mad.HeaderLen, got, want)
			}
		}
	}
}
