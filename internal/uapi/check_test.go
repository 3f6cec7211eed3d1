package uapi

import (
	"bytes"
	"slices"
	"testing"
)

// cqCreate returns the call that libibverbs makes for ibv_create_cq with rxe.
func cqCreate() *Call {
	return &Call{Method: MethodCQCreate, DriverID: DriverRXE, Attrs: []Attr{
		{AttrID: AttrCreateCQHandle.Wire(), Flags: AttrMandatory},
		{AttrID: AttrCreateCQCQE.Wire(), Len: 4, Flags: AttrMandatory, Data: 256},
		{AttrID: AttrCreateCQUserHandle.Wire(), Len: 8, Flags: AttrMandatory, Data: 0x7fff_0000_1234},
		{AttrID: AttrCreateCQCompVector.Wire(), Len: 4, Flags: AttrMandatory},
		{AttrID: AttrCreateCQRespCQE.Wire(), Len: 4, Flags: AttrMandatory, Data: 0x1000},
		{AttrID: uhwOutID, Len: 16, Flags: AttrMandatory, Data: 0x2000},
	}}
}

// qpCreate returns a call of QP_CREATE with all mandatory attributes.
func qpCreate() *Call {
	return &Call{Method: MethodQPCreate, DriverID: DriverRXE, Attrs: []Attr{
		{AttrID: AttrCreateQPHandle.Wire()},
		{AttrID: AttrCreateQPPDHandle.Wire(), Data: 1},
		{AttrID: AttrCreateQPUserHandle.Wire(), Len: 8, Data: 5},
		{AttrID: AttrCreateQPCap.Wire(), Len: 20, Data: 0x1000},
		{AttrID: AttrCreateQPType.Wire(), Len: 8, Data: uint64(QPTypeRC)},
		{AttrID: AttrCreateQPRespCap.Wire(), Len: 20, Data: 0x2000},
		{AttrID: AttrCreateQPRespQPNum.Wire(), Len: 4, Data: 0x3000},
	}}
}

// least returns a call with the mandatory attributes of a method, each of minimum length.
func least(m *MethodSpec) *Call {
	c := &Call{Method: m.ID, DriverID: DriverRXE}
	for _, s := range m.Attrs {
		if s.Mandatory {
			c.Attrs = append(c.Attrs, Attr{AttrID: s.ID.Wire(), Len: uint16(s.Min)})
		}
	}
	return c
}

func TestEachMandatoryAttributeIsNeeded(t *testing.T) {
	for i := range methods {
		m := &methods[i]
		c := least(m)
		if _, err := Check(c, DriverRXE); err != nil {
			t.Errorf("%s with its mandatory attributes: %v", m.Name, err)
		}
		for j := range c.Attrs {
			part := *c
			part.Attrs = slices.Concat(c.Attrs[:j], c.Attrs[j+1:])
			if _, err := Check(&part, DriverRXE); ErrnoOf(err) != EINVAL {
				t.Errorf("%s without %v: %v", m.Name, m.ID.Attr(c.Attrs[j].AttrID), err)
			}
		}
	}
}

func TestCallsSurviveARoundTrip(t *testing.T) {
	b := cqCreate().Bytes()
	if len(b) != IoctlHdrSize+6*AttrSize {
		t.Fatalf("%d bytes", len(b))
	}
	c, err := ParseCall(append(bytes.Clone(b), 1, 2, 3))
	if err != nil {
		t.Fatal(err)
	}
	if c.Method != MethodCQCreate || c.DriverID != DriverRXE || len(c.Attrs) != 6 || !bytes.Equal(c.Bytes(), b) {
		t.Errorf("%+v", c)
	}
}

func TestHeaderRules(t *testing.T) {
	full := make([]byte, MaxCallSize)
	copy(full, Encode(IoctlHdr{Length: IoctlHdrSize + AttrSize*MaxAttrs, NumAttrs: MaxAttrs}))
	if _, err := ParseCall(full); err != nil {
		t.Errorf("a call with the most attributes: %v", err)
	}
	for _, c := range []struct {
		what string
		hdr  IoctlHdr
		want Errno
	}{
		{"no attributes", IoctlHdr{Length: 24}, 0},
		{"one attribute too many", IoctlHdr{Length: 24 + 16*(MaxAttrs+1), NumAttrs: MaxAttrs + 1}, EINVAL},
		{"length of fewer attributes", IoctlHdr{Length: 24, NumAttrs: 1}, EINVAL},
		{"length of more attributes", IoctlHdr{Length: 40}, EINVAL},
		{"length that wraps around", IoctlHdr{Length: 24, NumAttrs: 4096}, EINVAL},
		{"first reserved field", IoctlHdr{Length: 24, Reserved1: 1 << 40}, EPROTONOSUPPORT},
		{"second reserved field", IoctlHdr{Length: 24, Reserved2: 1}, EPROTONOSUPPORT},
		{"attributes that are not there", IoctlHdr{Length: 40, NumAttrs: 1}, EFAULT},
	} {
		if _, err := ParseCall(Encode(c.hdr)); ErrnoOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	if _, err := ParseCall(full[:IoctlHdrSize-1]); ErrnoOf(err) != EFAULT {
		t.Errorf("a part of a header: %v", err)
	}
}

func TestAttributeRules(t *testing.T) {
	drop := func(id AttrID) func(*Call) {
		return func(c *Call) {
			for i := range c.Attrs {
				if c.Attrs[i].AttrID == uint16(id) {
					c.Attrs = append(c.Attrs[:i], c.Attrs[i+1:]...)
					return
				}
			}
		}
	}
	edit := func(id AttrID, f func(a *Attr)) func(*Call) {
		return func(c *Call) {
			for i := range c.Attrs {
				if c.Attrs[i].AttrID == uint16(id) {
					f(&c.Attrs[i])
				}
			}
		}
	}
	add := func(a Attr) func(*Call) { return func(c *Call) { c.Attrs = append(c.Attrs, a) } }
	length := func(n uint16) func(a *Attr) { return func(a *Attr) { a.Len = n } }
	for _, c := range []struct {
		what string
		call *Call
		edit func(c *Call)
		want Errno
	}{
		{"as libibverbs calls", cqCreate(), func(*Call) {}, 0},
		{"all that QP_CREATE needs", qpCreate(), func(*Call) {}, 0},
		{"another driver", cqCreate(), func(c *Call) { c.DriverID = DriverSIW }, EINVAL},
		{"unknown method", cqCreate(), func(c *Call) { c.Method += 9 }, EPROTONOSUPPORT},
		{"unknown object", cqCreate(), func(c *Call) { c.Method = Method(19) << 16 }, EPROTONOSUPPORT},
		{"unknown attribute", cqCreate(), add(Attr{AttrID: 99}), 0},
		{"unknown mandatory attribute", cqCreate(), add(Attr{AttrID: 99, Flags: AttrMandatory}), EPROTONOSUPPORT},
		{"attribute of another name space", cqCreate(), add(Attr{AttrID: 0x1002, Flags: AttrMandatory}),
			EPROTONOSUPPORT},
		{"no handle", cqCreate(), drop(AttrCreateCQHandle), EINVAL},
		{"no input", cqCreate(), drop(AttrCreateCQCQE), EINVAL},
		{"no output", cqCreate(), drop(AttrCreateCQRespCQE), EINVAL},
		{"no output of the driver", cqCreate(), drop(MethodCQCreate.UHWOut()), 0},
		{"first attribute twice", cqCreate(), add(Attr{AttrID: AttrCreateCQHandle.Wire()}), EINVAL},
		{"twice", cqCreate(), add(Attr{AttrID: AttrCreateCQCQE.Wire(), Len: 4}), EINVAL},
		{"short input", cqCreate(), edit(AttrCreateCQCQE, length(3)), EINVAL},
		{"long input", cqCreate(), edit(AttrCreateCQCQE, length(8)), EINVAL},
		{"long input that is not zero", cqCreate(),
			edit(AttrCreateCQCQE, func(a *Attr) { a.Len, a.Data = 8, 1<<32 }), EINVAL},
		{"long input at an address", cqCreate(), edit(AttrCreateCQUserHandle, length(9)), EINVAL},
		{"short output", cqCreate(), edit(AttrCreateCQRespCQE, length(2)), EINVAL},
		{"long output", cqCreate(), edit(AttrCreateCQRespCQE, length(8)), EINVAL},
		{"handle with a length", cqCreate(), edit(AttrCreateCQHandle, length(4)), EINVAL},
		{"reserved byte", cqCreate(), edit(AttrCreateCQCQE, func(a *Attr) { a.Reserved = 1 }), EINVAL},
		{"element of no enumeration", cqCreate(), edit(AttrCreateCQCQE, func(a *Attr) { a.ElemID = 1 }), EINVAL},
		{"reserved byte of a handle", cqCreate(), edit(AttrCreateCQHandle, func(a *Attr) { a.ElemID = 1 }), EINVAL},
		{"number of 4 bytes", qpCreate(), edit(AttrCreateQPType, length(4)), EINVAL},
		{"flags of 4 bytes", qpCreate(), add(Attr{AttrID: AttrCreateQPFlags.Wire(), Len: 4}), 0},
		{"flags of 8 bytes", qpCreate(), add(Attr{AttrID: AttrCreateQPFlags.Wire(), Len: 8}), 0},
		{"flags of 2 bytes", qpCreate(), add(Attr{AttrID: AttrCreateQPFlags.Wire(), Len: 2}), EINVAL},
		{"struct of a newer program", qpCreate(), edit(AttrCreateQPCap, length(64)), 0},
		{"struct of half the fields", qpCreate(), edit(AttrCreateQPCap, length(16)), EINVAL},
		{"room of a newer program", qpCreate(), edit(AttrCreateQPRespCap, length(64)), 0},
	} {
		c.edit(c.call)
		if _, err := Check(c.call, DriverRXE); ErrnoOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}

func TestInlineTailMustBeZero(t *testing.T) {
	for _, c := range []struct {
		kind Kind
		len  uint16
		data uint64
		want Errno
	}{
		{PtrIn, 6, 0xffff_ffff, 0},
		{PtrIn, 6, 1 << 32, EOPNOTSUPP},
		{PtrIn, 6, 1 << 48, 0},
		{PtrIn, 8, 1 << 63, EOPNOTSUPP},
		{PtrIn, 4, 1 << 32, 0},
		{PtrIn, 9, 1 << 32, 0},  // an address
		{PtrOut, 6, 1 << 32, 0}, // an address
	} {
		s := AttrSpec{Name: "X", Kind: c.kind, Min: 2, Max: 4, ZeroTail: true}
		if err := s.check(&Attr{Len: c.len, Data: c.data}); ErrnoOf(err) != c.want {
			t.Errorf("%v of %d bytes, %#x: %v, want %v", c.kind, c.len, c.data, err, c.want)
		}
	}
}

func TestInputsAreReadFromTheCall(t *testing.T) {
	c := qpCreate()
	c.Attrs = append(c.Attrs,
		Attr{AttrID: AttrCreateQPFlags.Wire(), Len: 4, Data: 0xffff_ffff_0000_1000},
		Attr{AttrID: AttrCreateQPEventFD.Wire(), Data: ^uint64(0)},
		Attr{AttrID: AttrCreateQPSendCQHandle.Wire(), Data: 1 << 32},
		Attr{AttrID: AttrCreateQPIndTableHandle.Wire(), Data: 1<<32 - 1},
		Attr{AttrID: AttrCreateQPRecvCQHandle.Wire(), Data: 1 << 63})
	r, err := Check(c, DriverRXE)
	if err != nil {
		t.Fatal(err)
	}
	number := func(v uint64, err error) [2]uint64 { return [2]uint64{v, uint64(ErrnoOf(err))} }
	handle := func(v uint32, err error) [2]uint64 { return number(uint64(v), err) }
	fd := func(v int32, err error) [2]uint64 { return number(uint64(uint32(v)), err) }
	for _, c := range []struct {
		what      string
		got, want [2]uint64
	}{
		{"input", number(r.Uint(AttrCreateQPUserHandle)), [2]uint64{5, 0}},
		{"input at an address", number(r.Uint(AttrCreateQPCap)), [2]uint64{0, uint64(EINVAL)}},
		{"absent input", number(r.Uint(AttrCreateQPSourceQPN)), [2]uint64{0, uint64(ENOENT)}},
		{"number", number(r.Const(AttrCreateQPType, 2)), [2]uint64{2, 0}},
		{"number above the limit", number(r.Const(AttrCreateQPType, 1)), [2]uint64{2, uint64(EINVAL)}},
		{"flags of 4 bytes", number(r.Flags(AttrCreateQPFlags, uint64(QPCreateSQSigAll))), [2]uint64{0x1000, 0}},
		{"flag that is not allowed", number(r.Flags(AttrCreateQPFlags, 1)), [2]uint64{0x1000, uint64(EINVAL)}},
		{"flags of 8 bytes", number(r.Flags(AttrCreateQPUserHandle, 7)), [2]uint64{5, 0}},
		{"absent flags", number(r.Flags(AttrCreateQPSourceQPN, 1)), [2]uint64{0, 0}},
		{"flags of no length", number(r.Flags(AttrCreateQPPDHandle, 1)), [2]uint64{0, uint64(EINVAL)}},
		{"handle", handle(r.Handle(AttrCreateQPPDHandle)), [2]uint64{1, 0}},
		{"handle 0", handle(r.Handle(AttrCreateQPHandle)), [2]uint64{0, 0}},
		{"greatest handle", handle(r.Handle(AttrCreateQPIndTableHandle)), [2]uint64{1<<32 - 1, 0}},
		{"handle above all", handle(r.Handle(AttrCreateQPSendCQHandle)), [2]uint64{0, uint64(ENOENT)}},
		{"negative handle", handle(r.Handle(AttrCreateQPRecvCQHandle)), [2]uint64{0, uint64(EINVAL)}},
		{"absent handle", handle(r.Handle(AttrCreateQPSRQHandle)), [2]uint64{0, uint64(ENOENT)}},
		{"negative descriptor", fd(r.FD(AttrCreateQPEventFD)), [2]uint64{1<<32 - 1, 0}},
		{"descriptor of 33 bits", fd(r.FD(AttrCreateQPSendCQHandle)), [2]uint64{0, uint64(EINVAL)}},
		{"absent descriptor", fd(r.FD(AttrCreateQPSRQHandle)), [2]uint64{0, uint64(ENOENT)}},
	} {
		if c.got != c.want {
			t.Errorf("%s: value and errno %d, want %d", c.what, c.got, c.want)
		}
	}
	if r.Has(AttrCreateCQCQE) || r.Has(AttrCreateQPCap+90) || !r.Has(AttrCreateQPHandle) {
		t.Error("a request has the attributes of its own method that the program sent")
	}
}

func TestPatchesStoreFlagsAndHandles(t *testing.T) {
	c := cqCreate()
	b := c.Bytes()
	for _, p := range []Patch{c.MarkOutput(4), c.StoreHandle(0, 0x8765_4321)} {
		copy(b[p.Offset:], p.Bytes)
	}
	got, err := ParseCall(b)
	if err != nil {
		t.Fatal(err)
	}
	want := cqCreate()
	want.Attrs[4].Flags |= AttrValidOutput
	want.Attrs[0].Data = 0x8765_4321
	if !bytes.Equal(got.Bytes(), want.Bytes()) || !bytes.Equal(c.Bytes(), want.Bytes()) {
		t.Errorf("%+v\nwant %+v", got.Attrs, want.Attrs)
	}
}

func TestLegacyCommandRules(t *testing.T) {
	for _, c := range []struct {
		what    string
		cmd     uint64
		in, out uint16
		want    Errno
	}{
		{"QUERY_DEVICE", 1, 8, 176, 0},
		{"QUERY_DEVICE with more room", 1, 8, 200, 0},
		{"the probe of libibverbs", 1, 0, 0, ENOSPC},
		{"short request", 9, 39, 12, ENOSPC},
		{"short response", 9, 40, 11, ENOSPC},
		{"extended QUERY_DEVICE of an old program", 0x8000_0001, 8, 184, 0},
		{"unknown bits", 1 << 8, 64, 64, EINVAL},
		{"more than 32 bits", 1 << 32, 64, 64, EINVAL},
		{"no such command", 200, 64, 64, EOPNOTSUPP},
		{"OPEN_XRCD", uint64(CmdOpenXRCD), 64, 64, EOPNOTSUPP},
		{"extended DEREG_MR", CmdFlagExtended | uint64(CmdDeregMR), 64, 64, EOPNOTSUPP},
	} {
		call := &Call{Method: MethodInvokeWrite, DriverID: DriverRXE, Attrs: []Attr{
			{AttrID: AttrWriteCmd.Wire(), Len: 8, Data: c.cmd},
		}}
		if c.in != 0 {
			call.Attrs = append(call.Attrs, Attr{AttrID: AttrCoreIn.Wire(), Len: c.in})
		}
		if c.out != 0 {
			call.Attrs = append(call.Attrs, Attr{AttrID: AttrCoreOut.Wire(), Len: c.out})
		}
		r, err := Check(call, DriverRXE)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := r.Command(); ErrnoOf(err) != c.want {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		} else if err == nil && uint64(s.Command) != c.cmd {
			t.Errorf("%s is %v", c.what, s.Command)
		}
	}
	r, err := Check(cqCreate(), DriverRXE)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Command(); ErrnoOf(err) != ENOENT {
		t.Errorf("a method that carries no legacy command: %v", err)
	}
}
