// Package bth implements the wire format of RoCEv2: the UDP datagrams to port 4791 and the
// invariant CRC that protects them.
//
// # The packet
//
// A RoCEv2 packet is a UDP payload that consists of the Base Transport Header (BTH), the
// extension headers of its opcode, the payload, 0 to 3 pad bytes and the 4-byte ICRC:
//
//	+-----+---------------------+---------+-----+------+
//	| BTH | extension headers   | payload | pad | ICRC |
//	| 12  | 0..28, multiple of 4| 0..4096 | 0..3|  4   |
//	+-----+---------------------+---------+-----+------+
//
// [Packet] holds the fields of a packet. [Packet.Decode] parses one, with the payload aliasing
// the input buffer; [Packet.Append] and [Packet.AppendHeaders] encode one. Decode never
// allocates, Append only if dst is too small. Decode is safe on arbitrary input: it rejects a
// malformed packet with a [*DecodeError]. The error's [Reason] is a small integer that can
// index an array of counters.
//
// An [Opcode] determines the extension headers and the operation of a packet. [Opcode.Info]
// returns both from one table of 256 entries, so no other package depends on opcode numbers.
// The table contains the opcodes of Reliable Connection, Unreliable Connection and Unreliable
// Datagram, and the congestion notification packet (CNP). Opcodes of Reliable Datagram and XRC
// are not valid.
//
// # The ICRC
//
// The ICRC is the Ethernet CRC-32 over the packet and the IP and UDP headers before it,
// computed with all ones in every field that a router may change:
//
//	seed := h.Seed()                              // Header4 or Header6: IP and UDP
//	v := bth.ICRC(seed, packet)                   // BTH .. pad
//	packet = bth.AppendICRC(packet, v)            // least significant byte first
//
// [ICRCStart] and [ICRCContinue] compute the ICRC of a packet in several buffers. [SeedIP] computes
// the seed from a whole IP datagram, as a capture or a raw socket provides it.
//
// The ICRC covers the IPv4 identification, which a UDP socket does not report. [SolveID]
// computes it: the CRC is linear, so the 16 unknown bits follow from the difference between the
// computed and the received ICRC. The check is then weaker than with a known identification: of
// the 32 bits of the ICRC, 16 determine the identification and 16 remain, so one corrupt packet
// in 65,536 passes. IPv6 has no identification; its ICRC is checked in full.
//
// # Concurrency
//
// The package has no clock, goroutine, lock or I/O. Its tables are built at program start and
// never written again, so all functions are safe for concurrent use.
//
// Section numbers in comments refer to the InfiniBand Architecture Specification, volume 1
// (IBA); RoCEv2 is its annex A17, FLUSH and ATOMIC WRITE its annex A19. CA17-n is a compliance
// statement of annex A17.
package bth
