// Package bth holds the wire format of RoCEv2: what stands in a UDP datagram
// to port 4791, and the invariant CRC that guards it.
//
// # The packet
//
// A RoCEv2 packet is a UDP payload made of the Base Transport Header, the
// extension headers its opcode calls for, the payload, 0 to 3 pad bytes and
// four bytes of ICRC:
//
//	+-----+---------------------+---------+-----+------+
//	| BTH | extension headers   | payload | pad | ICRC |
//	| 12  | 0..28, multiple of 4| 0..4096 | 0..3|  4   |
//	+-----+---------------------+---------+-----+------+
//
// [Packet] is that packet as fields. [Packet.Decode] reads one and borrows the
// payload from the buffer; [Packet.Append] and [Packet.AppendHeaders] write
// one. Neither allocates, and Decode takes any bytes a stranger may send: what
// it refuses it refuses with a [*DecodeError] that carries a [Reason], and
// [Reason] is dense enough to index an array of counters.
//
// # The opcodes
//
// An [Opcode] says which headers follow and what the packet means.
// [Opcode.Info] answers both from one table of 256 entries, so nothing else in
// gorxe needs to know opcode numbers. The table holds the Reliable Connection,
// Unreliable Connection and Unreliable Datagram opcodes and the congestion
// notification packet; Reliable Datagram and XRC opcodes are not valid here.
//
// # The ICRC
//
// The ICRC is the Ethernet CRC-32 over the packet and over the IP and UDP
// headers around it, with every field a router may change read as ones. Three
// steps give it:
//
//	seed := h.Seed()                              // Header4 or Header6: IP and UDP
//	v := bth.ICRC(seed, packet)                   // BTH .. pad
//	packet = bth.AppendICRC(packet, v)            // least significant byte first
//
// [ICRCStart] and [ICRCContinue] do the second step over scattered pieces.
// [SeedIP] takes the seed from a whole IP datagram, as a capture or a raw
// socket gives it.
//
// The IPv4 identification is covered, and a UDP socket does not show it.
// [SolveID] finds it: the CRC is linear, so the 16 unknown bits follow from
// the difference between the computed and the received ICRC.
//
// # Purity
//
// The package has no clock, no goroutine, no lock and no I/O. Its tables are
// built when the program starts and never written again, so every function
// may be called from anywhere at once.
//
// Section numbers in the comments are those of the InfiniBand Architecture
// Specification, volume 1 (IBA); RoCEv2 is its annex A17, FLUSH and ATOMIC WRITE
// are its annex A19. CA17-n is a compliance statement of annex A17.
package bth
