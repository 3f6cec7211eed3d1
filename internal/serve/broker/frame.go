package broker

import (
	"encoding/binary"
	"fmt"
)

// version is the version of the protocol. Both ends must have the same.
const version = 3

// A kind is the kind of a message.
type kind uint16

const (
	kindHello kind = iota + 1
	kindOpen
	kindCall
	kindCancel
	kindInstalled
	kindFound
	kindRelease
	kindExit
	kindExec
	kindWelcome
	kindRefused
	kindReply
	kindInstall
	kindFind
	kindEnded
	kindChanged

	numKinds
)

// Lengths of messages in bytes.
const (
	headerSize = 40
	// MaxWrite is the maximum number of bytes of a write that a call forwards.
	MaxWrite = 64 << 10
	maxHello = 4 << 10
	// maxDescription suffices for a GID table of 256 entries.
	maxDescription = 128 << 10
	maxReason      = 4 << 10
	maxFrame       = headerSize + maxDescription
	// maxFiles is the maximum number of descriptors in a message.
	maxFiles = 3
)

// A frame is a message without its descriptors. Fields that a kind does not use are 0.
type frame struct {
	kind    kind
	flags   uint16
	call    uint32 // number of a call in progress, assigned by the client
	object  uint32 // number of an opened or installed object, assigned by the server
	process uint32 // number of a process, assigned by the client
	cmd     uint32 // command of an ioctl; file of OPEN
	errno   uint32
	arg     uint64 // address; result; descriptor number
	size    uint64 // length of a write
	data    []byte
}

// Flags.
const (
	flagWrite       = 1 << iota // CALL is a write(2), not an ioctl(2)
	flagCloseOnExec             // of INSTALL
	flagNonBlock                // CALL is a write(2) to a descriptor with O_NONBLOCK
)

// A field is a set of fields of a frame.
type field uint8

const (
	hasFlags field = 1 << iota
	hasCall
	hasObject
	hasProcess
	hasCmd
	hasErrno
	hasArg
	hasSize
)

// A rule defines the contents of a kind of message.
type rule struct {
	name               string
	fromServer         bool   // the server sends it, not the client
	fields             field  // fields that may be other than 0
	flags              uint16 // permitted flags
	minData, maxData   int
	minFiles, maxFiles int
}

var rules = [numKinds]rule{
	kindHello: {name: "HELLO", minData: 1, maxData: maxHello},
	kindOpen:  {name: "OPEN", fields: hasCall | hasProcess | hasCmd, minFiles: 3, maxFiles: 3},
	kindCall: {name: "CALL", fields: hasFlags | hasCall | hasObject | hasProcess | hasCmd | hasArg | hasSize,
		flags: flagWrite | flagNonBlock, maxData: MaxWrite},
	kindCancel:    {name: "CANCEL", fields: hasCall},
	kindInstalled: {name: "INSTALLED", fields: hasCall | hasErrno | hasArg},
	kindFound:     {name: "FOUND", fields: hasCall | hasObject},
	kindRelease:   {name: "RELEASE", fields: hasObject},
	kindExit:      {name: "EXIT", fields: hasProcess},
	kindExec:      {name: "EXEC", fields: hasCall | hasProcess},
	kindWelcome:   {name: "WELCOME", fromServer: true, minData: 1, maxData: maxDescription},
	kindRefused:   {name: "REFUSED", fromServer: true, fields: hasErrno, minData: 1, maxData: maxReason},
	kindReply:     {name: "REPLY", fromServer: true, fields: hasCall | hasObject | hasErrno | hasArg, maxFiles: 1},
	kindInstall: {name: "INSTALL", fromServer: true, fields: hasFlags | hasCall | hasObject, flags: flagCloseOnExec,
		minFiles: 1, maxFiles: 1},
	kindFind:    {name: "FIND", fromServer: true, fields: hasCall | hasArg},
	kindEnded:   {name: "ENDED", fromServer: true, fields: hasObject},
	kindChanged: {name: "CHANGED", fromServer: true, minData: 1, maxData: maxDescription},
}

func (k kind) String() string {
	if k > 0 && k < numKinds {
		return rules[k].name
	}
	return fmt.Sprintf("kind %d", uint16(k))
}

// appendTo appends the encoded message to b.
func (f *frame) appendTo(b []byte) []byte {
	le := binary.LittleEndian
	b = le.AppendUint16(b, uint16(f.kind))
	b = le.AppendUint16(b, f.flags)
	for _, v := range []uint32{f.call, f.object, f.process, f.cmd, f.errno} {
		b = le.AppendUint32(b, v)
	}
	b = le.AppendUint64(b, f.arg)
	b = le.AppendUint64(b, f.size)
	return append(b, f.data...)
}

// parse decodes the message in b, received from the server or a client with the given number of
// descriptors. Its data alias b.
func parse(b []byte, fromServer bool, files int) (frame, error) {
	if len(b) < headerSize {
		return frame{}, fmt.Errorf("broker: message of %d bytes is shorter than the header (%d)", len(b), headerSize)
	}
	le := binary.LittleEndian
	f := frame{
		kind: kind(le.Uint16(b)), flags: le.Uint16(b[2:]), call: le.Uint32(b[4:]),
		object: le.Uint32(b[8:]), process: le.Uint32(b[12:]),
		cmd: le.Uint32(b[16:]), errno: le.Uint32(b[20:]), arg: le.Uint64(b[24:]), size: le.Uint64(b[32:]),
		data: b[headerSize:],
	}
	return f, f.check(fromServer, files)
}

func (f *frame) check(fromServer bool, files int) error {
	if f.kind == 0 || f.kind >= numKinds {
		return fmt.Errorf("broker: a message of unknown %v", f.kind)
	}
	r := &rules[f.kind]
	if r.fromServer != fromServer {
		return fmt.Errorf("broker: %v from the wrong side", f.kind)
	}
	for _, x := range []struct {
		bit   field
		value uint64
	}{
		{hasFlags, uint64(f.flags)}, {hasCall, uint64(f.call)},
		{hasObject, uint64(f.object)}, {hasProcess, uint64(f.process)},
		{hasCmd, uint64(f.cmd)}, {hasErrno, uint64(f.errno)}, {hasArg, f.arg}, {hasSize, f.size},
	} {
		if r.fields&x.bit == 0 && x.value != 0 {
			return fmt.Errorf("broker: %v has an unexpected field: %#x", f.kind, x.value)
		}
	}
	switch {
	case f.flags&^r.flags != 0:
		return fmt.Errorf("broker: %v has the flags %#x", f.kind, f.flags)
	case len(f.data) < r.minData || len(f.data) > r.maxData:
		return fmt.Errorf("broker: %v has %d bytes of data, it must be %d to %d", f.kind, len(f.data),
			r.minData, r.maxData)
	case files < r.minFiles || files > r.maxFiles:
		return fmt.Errorf("broker: %v has %d descriptors, it must be %d to %d", f.kind, files, r.minFiles, r.maxFiles)
	case f.kind == kindCall:
		return f.checkCall()
	case f.errno > maxErrno:
		return fmt.Errorf("broker: %v has the error number %d", f.kind, f.errno)
	}
	return nil
}

// maxErrno is MAX_ERRNO of the Linux kernel.
const maxErrno = 4095

// checkCall checks the fields that depend on the type of call.
func (f *frame) checkCall() error {
	write := f.flags&flagWrite != 0
	switch {
	case write && (f.cmd != 0 || uint64(len(f.data)) != min(f.size, MaxWrite)):
		return fmt.Errorf("broker: a write of %d bytes with %d bytes of data and command %#x", f.size,
			len(f.data), f.cmd)
	case !write && (f.size != 0 || len(f.data) != 0 || f.flags != 0):
		return fmt.Errorf("broker: an ioctl with %d bytes of data, size %d and flags %#x", len(f.data), f.size, f.flags)
	}
	return nil
}
