package bth

import "iter"

// Opcode is the first byte of the BTH. Its upper three bits select the transport service, the
// lower five the operation (IBA 9.2.1).
type Opcode uint8

// Reliable Connection.
const (
	RCSendFirst          Opcode = 0x00
	RCSendMiddle         Opcode = 0x01
	RCSendLast           Opcode = 0x02
	RCSendLastImm        Opcode = 0x03
	RCSendOnly           Opcode = 0x04
	RCSendOnlyImm        Opcode = 0x05
	RCWriteFirst         Opcode = 0x06
	RCWriteMiddle        Opcode = 0x07
	RCWriteLast          Opcode = 0x08
	RCWriteLastImm       Opcode = 0x09
	RCWriteOnly          Opcode = 0x0a
	RCWriteOnlyImm       Opcode = 0x0b
	RCReadRequest        Opcode = 0x0c
	RCReadResponseFirst  Opcode = 0x0d
	RCReadResponseMiddle Opcode = 0x0e
	RCReadResponseLast   Opcode = 0x0f
	RCReadResponseOnly   Opcode = 0x10
	RCAck                Opcode = 0x11
	RCAtomicAck          Opcode = 0x12
	RCCmpSwap            Opcode = 0x13
	RCFetchAdd           Opcode = 0x14
	RCSendLastInv        Opcode = 0x16
	RCSendOnlyInv        Opcode = 0x17
	RCFlush              Opcode = 0x1c
	RCAtomicWrite        Opcode = 0x1d
)

// Unreliable Connection.
const (
	UCSendFirst    Opcode = 0x20
	UCSendMiddle   Opcode = 0x21
	UCSendLast     Opcode = 0x22
	UCSendLastImm  Opcode = 0x23
	UCSendOnly     Opcode = 0x24
	UCSendOnlyImm  Opcode = 0x25
	UCWriteFirst   Opcode = 0x26
	UCWriteMiddle  Opcode = 0x27
	UCWriteLast    Opcode = 0x28
	UCWriteLastImm Opcode = 0x29
	UCWriteOnly    Opcode = 0x2a
	UCWriteOnlyImm Opcode = 0x2b
)

// Unreliable Datagram.
const (
	UDSendOnly    Opcode = 0x64
	UDSendOnlyImm Opcode = 0x65
)

// CNP is the congestion notification packet (IBA A17.9.3, figure 6).
const CNP Opcode = 0x81

// Info returns the entry of the opcode in the opcode table, never nil. For an opcode that RoCEv2
// does not carry, Valid is false, Headers is empty and HeaderLen is BTHLen. The entry is shared and
// must not be written.
func (o Opcode) Info() *OpcodeInfo { return &opcodes[o] }

// Valid reports whether RoCEv2 carries the opcode.
func (o Opcode) Valid() bool { return opcodes[o].Valid }

// String returns the opcode's IBA name, such as "RC_SEND_FIRST", or "OPCODE_0x15" for an opcode
// that RoCEv2 does not carry.
func (o Opcode) String() string { return opcodes[o].Name }

// Opcodes yields every valid opcode in ascending order.
func Opcodes() iter.Seq[Opcode] {
	return func(yield func(Opcode) bool) {
		for i := range opcodes {
			if opcodes[i].Valid && !yield(Opcode(i)) {
				return
			}
		}
	}
}
