package cm_test

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/cm"
)

func TestCodecAllocatesNothing(t *testing.T) {
	paths := map[string]func(){}
	var refused [cm.NumReasons]int
	for _, tt := range layouts {
		b := wire(t, strings.Map(hexDigits, tt.wire))
		var m cm.MAD
		paths["Decode, "+tt.name] = func() {
			if err := m.Decode(b); err != nil {
				t.Fatal(err)
			}
		}
		want, dst := tt.want, new([cm.MADLen]byte)
		paths["Encode, "+tt.name] = func() {
			if err := want.Encode(dst); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range hostile {
		b := tt.change(goodRTU(t))
		var m cm.MAD
		paths["Decode, "+tt.name] = func() { refused[cm.ReasonOf(m.Decode(b))]++ }
	}
	for _, tt := range ipHeaders {
		b, dst := unhex(t, tt.wire), make([]byte, 0, cm.IPHeaderLen)
		paths["IPHeader, "+tt.name] = func() {
			var h cm.IPHeader
			if _, err := h.Decode(b); err != nil {
				t.Fatal(err)
			}
			refused[cm.ReasonOf(h.Check())]++
			if _, err := h.Append(dst); err != nil {
				t.Fatal(err)
			}
			_, err := h.Decode(b[:9])
			refused[cm.ReasonOf(err)]++
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
