package uapi

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"testing"
)

// pattern returns n bytes that are all nonzero and mostly differ from adjacent ones.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i%251 + 1)
	}
	return b
}

func TestEveryStructSurvivesARoundTrip(t *testing.T) {
	for _, s := range Structs() {
		want := pattern(SizeOf(s.Value))
		v := reflect.New(reflect.TypeOf(s.Value)).Interface()
		if err := Decode(want, v); err != nil {
			t.Errorf("%s: %v", s.C, err)
		} else if got := Encode(v); !bytes.Equal(got, want) {
			t.Errorf("%s: %x became %x", s.C, want, got)
		}
	}
}

func TestStructsHaveNoImplicitPadding(t *testing.T) {
	for _, s := range Structs() {
		typ, offset := reflect.TypeOf(s.Value), uintptr(0)
		for i := range typ.NumField() {
			f := typ.Field(i)
			if f.Tag.Get("c") == "" {
				t.Errorf("%s.%s has no name in C", s.C, f.Name)
			}
			if f.Offset != offset {
				t.Errorf("%s.%s is at %d, the fields before it have %d bytes", s.C, f.Name, f.Offset, offset)
			}
			offset += f.Type.Size()
		}
	}
}

func TestStructsAreRegisteredOnce(t *testing.T) {
	names, types := map[string]bool{}, map[reflect.Type]bool{}
	for _, s := range Structs() {
		typ := reflect.TypeOf(s.Value)
		if names[s.C] || types[typ] {
			t.Errorf("%s, %v is registered twice", s.C, typ)
		}
		names[s.C], types[typ] = true, true
	}
}

func TestEveryStructWithCNamesIsRegistered(t *testing.T) {
	registered := map[string]bool{}
	for _, s := range Structs() {
		registered[reflect.TypeOf(s.Value).Name()] = true
	}
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if st, ok := spec.Type.(*ast.StructType); ok && len(st.Fields.List) > 0 && st.Fields.List[0].Tag != nil {
				found++
				if !registered[spec.Name.Name] {
					t.Errorf("%s is not registered", spec.Name.Name)
				}
			}
			return true
		})
	}
	if found != len(registered) {
		t.Errorf("%d structs in the source, %d are registered", found, len(registered))
	}
}

func TestDecodeExtendsShortInputWithZeros(t *testing.T) {
	got, err := DecodeAs[ReqNotifyCQ]([]byte{7, 0, 0, 0, 1})
	if want := (ReqNotifyCQ{CQHandle: 7, SolicitedOnly: 1}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	old := UCMConnect{ID: 9, ECE: UCMECE{VendorID: 1}}
	con, err := DecodeAs[UCMConnect](Truncate(Encode(old), 280))
	if err != nil || con.ID != 9 || con.ECE != (UCMECE{}) {
		t.Errorf("request without ECE: %+v, %v", con, err)
	}
}

func TestInputOfUpTo8BytesIsInline(t *testing.T) {
	for n, want := range map[uint16]bool{0: true, 8: true, 9: false} {
		a := Attr{Len: n, Data: 0x0807_0605_0403_0201}
		b, ok := a.Bytes()
		if ok != want || ok && !bytes.Equal(b, []byte{1, 2, 3, 4, 5, 6, 7, 8}[:n]) {
			t.Errorf("%d bytes: %v, %v", n, b, ok)
		}
	}
}

func TestDecodeKeepsItsInput(t *testing.T) {
	b := append(make([]byte, 0, 8), 1, 2)
	full := b[:8]
	full[2] = 9
	if _, err := DecodeAs[ReqNotifyCQ](b); err != nil || full[2] != 9 {
		t.Errorf("bytes after the input became %v, %v", full, err)
	}
}

func TestDecodeAcceptsLongInputOnlyIfTheRestIsZero(t *testing.T) {
	b := append(Encode(DeallocPD{PDHandle: 3}), 0, 0, 0)
	if got, err := DecodeAs[DeallocPD](b); err != nil || got.PDHandle != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	b[6] = 1
	if _, err := DecodeAs[DeallocPD](b); !errors.Is(err, EOPNOTSUPP) {
		t.Errorf("a rest that is not zero gives %v", err)
	}
}

func TestResponsesAreTruncatedOrExtendedToTheRoom(t *testing.T) {
	b := []byte{1, 2, 3}
	for _, c := range []struct {
		room           int
		truncated, fit []byte
	}{
		{-1, nil, nil}, {0, nil, nil}, {2, b[:2], b[:2]}, {3, b, b}, {5, b, []byte{1, 2, 3, 0, 0}},
	} {
		if got := Truncate(b, c.room); !bytes.Equal(got, c.truncated) {
			t.Errorf("Truncate to %d gives %v", c.room, got)
		}
		if got := Fit(b, c.room); !bytes.Equal(got, c.fit) {
			t.Errorf("Fit to %d gives %v", c.room, got)
		}
	}
}

func TestAddressVectorsConvertBothWays(t *testing.T) {
	d := QPDest{
		DGID: [16]byte(pattern(16)), FlowLabel: 1, DLID: 2, SGIDIndex: 3, HopLimit: 4, TrafficClass: 5,
		SL: 6, SrcPathBits: 7, StaticRate: 8, IsGlobal: 9, PortNum: 10,
	}
	if got := d.AHAttr().QPDest(); got != d {
		t.Errorf("%+v became %+v", d, got)
	}
}

func TestEventParametersShareTheirRoom(t *testing.T) {
	var r UCMEventResp
	ud := UCMUDParam{QPNum: 1, QKey: 2, PrivateDataLen: 3, Reserved: [7]uint8{6: 4}}
	r.SetUD(ud)
	if r.UD() != ud {
		t.Errorf("%+v became %+v", ud, r.UD())
	}
	conn := UCMConnParam{QPNum: 5, Valid: 1}
	r.SetConn(conn)
	if r.Conn() != conn || r.UD().Reserved[6] != 0 {
		t.Errorf("%+v became %+v; the rest of the room is %v", conn, r.Conn(), r.Param[272:])
	}
}

func TestErrnoOfIsThatOfTheCause(t *testing.T) {
	_, err := ParseCall(nil)
	if got := ErrnoOf(err); got != EFAULT {
		t.Errorf("%v of %v", got, err)
	}
	if ErrnoOf(nil) != 0 || ErrnoOf(errors.New("other")) != EIO {
		t.Error("nil is 0, an error without a number is EIO")
	}
	if EINVAL.Error() != "EINVAL" {
		t.Errorf("EINVAL is called %v", EINVAL.Error())
	}
}
