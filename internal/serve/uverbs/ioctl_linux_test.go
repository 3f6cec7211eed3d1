package uverbs

import (
	"reflect"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A program may have no mapping after the argument, and the argument may be longer than the first
// read.
func TestArgumentsAreReadToTheirEndAndNotBeyondTheirPages(t *testing.T) {
	s := &space{bytes: make([]byte, 1<<14), next: base}
	c := &Context{space: s}
	for _, attrs := range []int{0, 1, 14, 15, 100} {
		h := uapi.IoctlHdr{
			Length: uint16(uapi.IoctlHdrSize + attrs*uapi.AttrSize), NumAttrs: uint16(attrs), ObjectID: 7, MethodID: 3,
		}
		b := uapi.Encode(h)
		for i := range attrs {
			b = append(b, uapi.Encode(uapi.Attr{AttrID: uint16(i), Len: 8, Data: uint64(i)})...)
		}
		want, err := uapi.ParseCall(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, behind := range []int{0, 1, 255, 4096, 4100} {
			addr := uint64(base + len(s.bytes) - behind - len(b))
			if err := s.Write(b, addr); err != nil {
				t.Fatal(err)
			}
			if got, err := c.readCall(addr); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%d attributes, %d mapped bytes behind them: %v, %v", attrs, behind, got, err)
			}
		}
	}
}
