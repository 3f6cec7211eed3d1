package uapi

import (
	"encoding/binary"
	"fmt"
)

// SizeOf returns the size of a struct of this package in bytes, as sizeof in C. v is the struct
// or a pointer to it. SizeOf panics for a type that does not have a fixed size.
func SizeOf(v any) int {
	n := binary.Size(v)
	if n < 0 {
		panic(fmt.Sprintf("uapi: %T is not a struct of fixed size", v))
	}
	return n
}

// Decode decodes b into the struct that v points to. A short b is extended with zeros. Bytes of b
// beyond the struct must be zero, otherwise Decode returns EOPNOTSUPP. The kernel reads the
// requests of older and newer programs by this rule (uverbs_request of
// drivers/infiniband/core/uverbs_cmd.c).
func Decode(b []byte, v any) error {
	size := SizeOf(v)
	if !Cleared(b, size) {
		return fmt.Errorf("%d bytes for a struct of %d bytes, the rest is not zero: %w",
			len(b), size, EOPNOTSUPP)
	}
	decodeInto(b, v)
	return nil
}

// DecodeAs decodes b into a new T as Decode does.
func DecodeAs[T any](b []byte) (T, error) {
	var v T
	err := Decode(b, &v)
	return v, err
}

// decodeInto is Decode without the check of the bytes beyond the struct.
func decodeInto(b []byte, v any) {
	size := SizeOf(v)
	if len(b) < size {
		b = append(make([]byte, 0, size), b...)[:size]
	}
	if _, err := binary.Decode(b[:size], binary.LittleEndian, v); err != nil {
		panic(fmt.Sprintf("uapi: %v", err)) // v is not a pointer
	}
}

// Cleared reports whether all bytes of b from index n on are zero, as the kernel's
// ib_is_buffer_cleared does (include/rdma/ib_verbs.h).
func Cleared(b []byte, n int) bool {
	for i := n; i < len(b); i++ {
		if b[i] != 0 {
			return false
		}
	}
	return true
}

// Encode returns the bytes of the struct v, or of the struct that v points to. It panics for a
// type that does not have a fixed size.
func Encode(v any) []byte {
	b, err := binary.Append(make([]byte, 0, SizeOf(v)), binary.LittleEndian, v)
	if err != nil {
		panic(fmt.Sprintf("uapi: %v", err))
	}
	return b
}

// Truncate returns the first room bytes of b, or all of b if it is shorter, as uverbs_copy_to
// stores outputs (drivers/infiniband/core/uverbs_ioctl.c).
func Truncate(b []byte, room int) []byte { return b[:min(len(b), max(room, 0))] }

// Fit returns room bytes: b truncated or extended with zeros, as uverbs_copy_to_struct_or_zero
// stores responses to legacy commands and outputs with AttrSpec.ZeroTail.
func Fit(b []byte, room int) []byte {
	if room <= len(b) {
		return Truncate(b, room)
	}
	return append(make([]byte, 0, room), b...)[:room]
}
