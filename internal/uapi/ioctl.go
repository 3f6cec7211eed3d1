package uapi

import (
	"encoding/binary"
	"fmt"
)

// VerbsIoctl is the request number of the uverbs ioctl (RDMA_VERBS_IOCTL).
const VerbsIoctl = 0xc0181b01

// Sizes in bytes, and the maximum number of attributes: a call must fit in a page of 4096 bytes
// (ib_uverbs_ioctl of drivers/infiniband/core/uverbs_ioctl.c).
const (
	IoctlHdrSize = 24
	AttrSize     = 16
	MaxCallSize  = 4096
	MaxAttrs     = (MaxCallSize - IoctlHdrSize) / AttrSize
)

// Flags of an attribute.
const (
	AttrMandatory   = 1 << 0 // set by the program: the call fails if the attribute is unknown
	AttrValidOutput = 1 << 1 // set by the kernel: the output was stored
)

// IoctlHdr is the header of a call; NumAttrs attributes follow it (struct ib_uverbs_ioctl_hdr).
type IoctlHdr struct {
	Length    uint16 `c:"length"` // bytes, including all attributes
	ObjectID  uint16 `c:"object_id"`
	MethodID  uint16 `c:"method_id"`
	NumAttrs  uint16 `c:"num_attrs"`
	Reserved1 uint64 `c:"reserved1"`
	DriverID  uint32 `c:"driver_id"`
	Reserved2 uint32 `c:"reserved2"`
}

// Attr is an attribute of a call (struct ib_uverbs_attr). Data is a value of up to 8 bytes, the
// address of a longer value or of a buffer of Len bytes, a handle or a file descriptor.
type Attr struct {
	AttrID   uint16 `c:"attr_id"`
	Len      uint16 `c:"len"`
	Flags    uint16 `c:"flags"`
	ElemID   uint8  `c:"attr_data.enum_data.elem_id"`
	Reserved uint8  `c:"attr_data.enum_data.reserved"`
	Data     uint64 `c:"data"`
}

var ioctlStructs = []Struct{
	{"ib_uverbs_ioctl_hdr", headerIoctl, IoctlHdr{}},
	{"ib_uverbs_attr", headerIoctl, Attr{}},
}

var ioctlConstants = []Constant{
	{"RDMA_VERBS_IOCTL", headerIoctl, VerbsIoctl},
	{"sizeof(struct ib_uverbs_ioctl_hdr)", headerIoctl, IoctlHdrSize},
	{"sizeof(struct ib_uverbs_attr)", headerIoctl, AttrSize},
	{"UVERBS_ATTR_F_MANDATORY", headerIoctl, AttrMandatory},
	{"UVERBS_ATTR_F_VALID_OUTPUT", headerIoctl, AttrValidOutput},
}

// Inline reports whether Data is the input itself and not its address.
func (a *Attr) Inline() bool { return a.Len <= 8 }

// Bytes returns the input of the attribute, up to 8 bytes. ok is false if the input is at an
// address.
func (a *Attr) Bytes() (b []byte, ok bool) {
	if !a.Inline() {
		return nil, false
	}
	return binary.LittleEndian.AppendUint64(nil, a.Data)[:a.Len], true
}

// A Call is the argument of the uverbs ioctl.
type Call struct {
	Method   Method
	DriverID DriverID
	Attrs    []Attr
}

// ParseHeader parses and checks the header of a call, the first IoctlHdrSize bytes of its argument.
// IoctlHdr.Length is the number of bytes that ParseCall needs. The error is EINVAL for a wrong
// length, EPROTONOSUPPORT for a reserved field other than 0, EFAULT for a short b.
func ParseHeader(b []byte) (IoctlHdr, error) {
	var h IoctlHdr
	if len(b) < IoctlHdrSize {
		return h, fmt.Errorf("header of %d bytes, it has %d: %w", len(b), IoctlHdrSize, EFAULT)
	}
	decodeInto(b, &h)
	switch {
	case h.Length > MaxCallSize:
		return h, fmt.Errorf("call of %d bytes, the limit is %d: %w", h.Length, MaxCallSize, EINVAL)
	case int(h.Length) != IoctlHdrSize+AttrSize*int(h.NumAttrs):
		return h, fmt.Errorf("call of %d bytes has %d attributes: %w", h.Length, h.NumAttrs, EINVAL)
	case h.Reserved1 != 0 || h.Reserved2 != 0:
		return h, fmt.Errorf("reserved fields %#x and %#x are not 0: %w",
			h.Reserved1, h.Reserved2, EPROTONOSUPPORT)
	}
	return h, nil
}

// ParseCall parses the argument of the ioctl: a header and its attributes. It ignores trailing
// bytes and returns EFAULT if b is too short. The result does not refer to b.
func ParseCall(b []byte) (*Call, error) {
	h, err := ParseHeader(b)
	if err != nil {
		return nil, err
	}
	if len(b) < int(h.Length) {
		return nil, fmt.Errorf("call of %d bytes, %d are there: %w", h.Length, len(b), EFAULT)
	}
	c := &Call{
		Method:   Method(h.ObjectID)<<16 | Method(h.MethodID),
		DriverID: DriverID(h.DriverID),
		Attrs:    make([]Attr, h.NumAttrs),
	}
	for i := range c.Attrs {
		c.Attrs[i] = decodeAttr(b[IoctlHdrSize+AttrSize*i:])
	}
	return c, nil
}

func decodeAttr(b []byte) Attr {
	le := binary.LittleEndian
	_ = b[AttrSize-1]
	return Attr{
		AttrID: le.Uint16(b), Len: le.Uint16(b[2:]), Flags: le.Uint16(b[4:]),
		ElemID: b[6], Reserved: b[7], Data: le.Uint64(b[8:]),
	}
}

// A Patch is a change to the argument of the ioctl: bytes to store at an offset.
type Patch struct {
	Offset int
	Bytes  []byte
}

// MarkOutput sets AttrValidOutput in attribute i, which tells the program that the output was
// stored (uverbs_set_output), and returns the patch. The kernel marks UHW_OUT, if present, after
// every call that succeeds (ib_uverbs_run_method).
func (c *Call) MarkOutput(i int) Patch {
	a := &c.Attrs[i]
	a.Flags |= AttrValidOutput
	return Patch{IoctlHdrSize + AttrSize*i + 4, binary.LittleEndian.AppendUint16(nil, a.Flags)}
}

// StoreHandle sets Data of attribute i to a new handle or file descriptor and returns the patch.
// The kernel does not set AttrValidOutput in such an attribute (uverbs_process_attr).
func (c *Call) StoreHandle(i int, handle uint32) Patch {
	a := &c.Attrs[i]
	a.Data = uint64(handle)
	return Patch{IoctlHdrSize + AttrSize*i + 8, binary.LittleEndian.AppendUint64(nil, a.Data)}
}

// Bytes encodes the call as the argument of the ioctl.
func (c *Call) Bytes() []byte {
	b := Encode(&IoctlHdr{
		Length:   uint16(IoctlHdrSize + AttrSize*len(c.Attrs)),
		ObjectID: uint16(c.Method >> 16),
		MethodID: uint16(c.Method),
		NumAttrs: uint16(len(c.Attrs)),
		DriverID: uint32(c.DriverID),
	})
	for i := range c.Attrs {
		b = append(b, Encode(&c.Attrs[i])...)
	}
	return b
}
