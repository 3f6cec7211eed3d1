package cm_test

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/cm"
)

// A bitsOf is bits of one byte, counted from the start of the MAD's data.
type bitsOf struct {
	at   int
	mask byte
}

// reserved are the bits of each message that have no meaning.
var reserved = map[cm.Attribute][]bitsOf{
	cm.AttrREQ: {
		{4, 0xff}, {24, 0xff}, {25, 0xff}, {26, 0xff}, {27, 0xff},
		{90, 0x0f}, {91, 0xc0}, {94, 0x07}, {95, 0x07}, // primary path
		{134, 0x0f}, {135, 0xc0}, {138, 0x07}, {139, 0x03}, // alternate path
	},
	cm.AttrMRA:     {{8, 0x3f}, {9, 0x07}},
	cm.AttrREJ:     {{8, 0x3f}, {9, 0x01}},
	cm.AttrREP:     {{27, 0x0f}},
	cm.AttrRTU:     {},
	cm.AttrDREQ:    {{11, 0xff}},
	cm.AttrDREP:    {},
	cm.AttrSIDRREQ: {{6, 0xff}, {7, 0xff}},
	cm.AttrSIDRREP: {},
}

// withoutReserved returns the good MAD b with all bits cleared that have no meaning:
// reserved ones, and what follows additional information in its field.
func withoutReserved(b []byte) []byte {
	b = bytes.Clone(b)
	clear(b[4:8])
	clear(b[18:20])
	attr := cm.Attribute(uint16(b[16])<<8 | uint16(b[17]))
	data := b[cm.HeaderLen:]
	for _, r := range reserved[attr] {
		data[r.at] &^= r.mask
	}
	switch attr {
	case cm.AttrREJ:
		clear(data[12+data[9]>>1 : 12+cm.InfoLen])
	case cm.AttrSIDRREP:
		clear(data[24+data[5] : 24+cm.InfoLen])
	}
	return b
}

// allOnes is a message with every bit set that Decode allows to be.
func allOnes(attr cm.Attribute) []byte {
	b := bytes.Repeat([]byte{0xff}, cm.MADLen)
	copy(b, []byte{1, 7, 2, 3})
	b[16], b[17] = byte(attr>>8), byte(attr)
	switch data := b[cm.HeaderLen:]; attr {
	case cm.AttrREJ:
		data[9] = cm.InfoLen<<1 | 1
	case cm.AttrSIDRREP:
		data[5] = cm.InfoLen
	}
	return b
}

func TestEveryBitIsCarriedOrReserved(t *testing.T) {
	for attr := range reserved {
		t.Run(attr.String(), func(t *testing.T) {
			b := allOnes(attr)
			want := withoutReserved(b)
			var dirty, clean cm.MAD
			if err := dirty.Decode(b); err != nil {
				t.Fatal(cm.Explain(b))
			}
			if err := clean.Decode(want); err != nil {
				t.Fatal(cm.Explain(want))
			}
			if diff := cmp.Diff(clean, dirty); diff != "" {
				t.Errorf("reserved bits change the message (-clean +dirty):\n%s", diff)
			}
			var got [cm.MADLen]byte
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
		zero := make([]byte, cm.MADLen)
		copy(zero, []byte{1, 7, 2, 3})
		zero[16], zero[17] = byte(attr>>8), byte(attr)
		for i := range cm.MADLen * 8 {
			if at := i / 8; at < 4 || at == 16 || at == 17 {
				continue
			}
			b := bytes.Clone(zero)
			b[i/8] ^= 0x80 >> (i % 8)
			var m cm.MAD
			if err := m.Decode(b); err != nil {
				if cm.ReasonOf(err) != cm.ReasonInfoLength {
					t.Errorf("%s, bit %d: %v", attr, i, err)
				}
				continue
			}
			var got [cm.MADLen]byte
			if err := m.Encode(&got); err != nil {
				t.Errorf("%s, bit %d: %v", attr, i, err)
			}
			if want := withoutReserved(b); !bytes.Equal(got[:], want) {
				t.Errorf("%s, bit %d of byte %d of the data\n got %x\nwant %x", attr, i%8, i/8-cm.HeaderLen, got, want)
			}
		}
	}
}
