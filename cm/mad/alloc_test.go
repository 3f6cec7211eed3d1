package mad_test

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
)

func TestCodecAllocatesNothing(t *testing.T) {
	paths := map[string]func(){}
	var refused [mad.NumReasons]int
	for _, tt := range layouts {
		b := wire(t, strings.Map(hexDigits, tt.wire))
		var m mad.Message
		paths["Decode, "+tt.name] = func() {
			if err := m.Decode(b); err != nil {
				t.Fatal(err)
			}
		}
		want, dst := tt.want, new([mad.Len]byte)
		paths["Encode, "+tt.name] = func() {
			if err := want.Encode(dst); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range hostile {
		b := tt.change(goodRTU(t))
		var m mad.Message
		paths["Decode, "+tt.name] = func() { refused[mad.ReasonOf(m.Decode(b))]++ }
	}
	for _, tt := range ipHeaders {
		b, dst := unhex(t, tt.wire), make([]byte, 0, mad.IPHeaderLen)
		paths["IPHeader, "+tt.name] = func() {
			var h mad.IPHeader
			if _, err := h.Decode(b); err != nil {
				t.Fatal(err)
			}
			refused[mad.ReasonOf(h.Check())]++
			if _, err := h.Append(dst); err != nil {
				t.Fatal(err)
			}
			_, err := h.Decode(b[:9])
			refused[mad.ReasonOf(err)]++
		}
	}
	for name, path := range paths {
		t.Run(name, func(t *testing.T) {
			if n := testing.AllocsPerRun(100, path); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}
