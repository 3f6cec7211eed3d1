package bth

// Packet is one RoCEv2 packet: the BTH, the extension headers and the payload.
// An extension header's field has meaning only when the opcode's [Headers]
// names it; Decode leaves the others as they were, so that a Packet can be
// reused without clearing it.
type Packet struct {
	Opcode    Opcode
	Solicited bool   // SE: the receiver shall raise a solicited event
	MigReq    bool   // M: migration state
	Pad       uint8  // pad bytes after the payload, 0 to 3
	Version   uint8  // transport header version, 0
	PKey      uint16 // partition key
	FECN      bool   // forward congestion notification
	BECN      bool   // backward congestion notification
	DestQP    QPN
	AckReq    bool // A: the responder shall schedule an acknowledge
	PSN       PSN

	RETH           RETH
	AETH           AETH
	AtomicETH      AtomicETH
	AtomicAck      uint64 // original value at the address, from the AtomicAckETH
	Imm            uint32 // immediate data, the wire's four bytes read as big-endian
	InvalidateRKey uint32 // R_Key of the IETH
	DETH           DETH
	FETH           FETH

	// Payload is the data without pad. After Decode it is borrowed from the
	// buffer that was decoded.
	Payload []byte
}

// PadFor returns how many pad bytes follow a payload of n bytes.
func PadFor(n int) uint8 { return uint8(-n & 3) }
