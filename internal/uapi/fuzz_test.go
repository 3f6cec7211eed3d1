package uapi

import (
	"bytes"
	"reflect"
	"testing"
)

func FuzzCheck(f *testing.F) {
	f.Add(cqCreate().Bytes())
	f.Add(qpCreate().Bytes())
	for i := range methods {
		f.Add(least(&methods[i]).Bytes())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		in := bytes.Clone(b)
		c, err := ParseCall(b[:len(b):len(b)])
		if !bytes.Equal(b, in) {
			t.Fatal("ParseCall changed its input")
		}
		if err != nil {
			if ErrnoOf(err) == EIO {
				t.Fatalf("no error number: %v", err)
			}
			return
		}
		if want := b[:IoctlHdrSize+AttrSize*len(c.Attrs)]; !bytes.Equal(c.Bytes(), want) {
			t.Fatalf("%x became %x", want, c.Bytes())
		}
		r, err := Check(c, c.DriverID)
		if err != nil {
			if ErrnoOf(err) == EIO {
				t.Fatalf("no error number: %v", err)
			}
			return
		}
		for i := range r.Spec.Attrs {
			s := &r.Spec.Attrs[i]
			a := r.Attr(s.ID)
			if a == nil {
				if s.Mandatory {
					t.Fatalf("%s is absent", s.Name)
				}
				continue
			}
			if n := int(a.Len); n < s.Min || n > s.Max && !s.ZeroTail {
				t.Fatalf("%s has %d bytes", s.Name, n)
			}
			// Only the absence of panics is tested.
			_, _ = r.Uint(s.ID)
			_, _ = r.Const(s.ID, 7)
			_, _ = r.Flags(s.ID, 7)
			_, _ = r.Handle(s.ID)
			_, _ = r.FD(s.ID)
		}
		if s, err := r.Command(); err == nil && FindMethod(c.Method).ID != MethodInvokeWrite {
			t.Fatalf("%v carries %v", c.Method, s.Command)
		}
		for i := range c.Attrs {
			for _, p := range []Patch{c.MarkOutput(i), c.StoreHandle(i, 1)} {
				if p.Offset < IoctlHdrSize || p.Offset+len(p.Bytes) > len(b) {
					t.Fatalf("%d bytes at %d of %d", len(p.Bytes), p.Offset, len(b))
				}
			}
		}
	})
}

func FuzzParseUCM(f *testing.F) {
	for _, s := range UCMCommandSpecs() {
		f.Add(ucmWrite(s.Command, uint16(s.MinOut), make([]byte, s.MinIn)))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		call, err := ParseUCM(b[:len(b):len(b)])
		if err != nil {
			if ErrnoOf(err) == EIO {
				t.Fatalf("no error number: %v", err)
			}
			return
		}
		req := reflect.New(reflect.TypeOf(call.Spec.Req)).Interface()
		if err := Decode(call.Req, req); err != nil && ErrnoOf(err) != EOPNOTSUPP {
			t.Fatal(err)
		}
	})
}
