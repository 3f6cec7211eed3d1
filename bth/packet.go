package bth

// Packet is one RoCEv2 packet: the BTH, the extension headers and the payload. The field of an
// extension header is valid only if the [Headers] of the opcode contain that header. Decode leaves
// the other fields unchanged, so that a Packet can be reused without clearing it.
type Packet struct {
	Opcode    Opcode
	Solicited bool   // SE: the responder raises a solicited event
	MigReq    bool   // M: set in the path migration state migrated
	Pad       uint8  // pad bytes after the payload, 0 to 3
	Version   uint8  // transport header version, always 0
	PKey      uint16 // partition key
	FECN      bool   // forward congestion notification
	BECN      bool   // backward congestion notification
	DestQP    QPN
	AckReq    bool // A: the requester asks for an acknowledge
	PSN       PSN

	RETH           RETH
	AETH           AETH
	AtomicETH      AtomicETH
	AtomicAck      uint64 // value before the atomic operation, from the AtomicAckETH
	Imm            uint32 // immediate data, the four bytes on the wire read as big-endian
	InvalidateRKey uint32 // R_Key of the IETH
	DETH           DETH
	FETH           FETH

	// Payload is the data without pad. After Decode it aliases the decoded buffer.
	Payload []byte
}

// PadFor returns the number of pad bytes after a payload of n bytes.
func PadFor(n int) uint8 { return uint8(-n & 3) }
