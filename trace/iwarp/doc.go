// Package iwarp decodes iWARP: MPA (RFC 5044, RFC 6581), DDP (RFC 5041) and RDMAP (RFC 5040, RFC
// 7306) in TCP segments.
//
// MPA divides a TCP stream into FPDUs. A [Tracker] follows each direction of a connection by its
// sequence numbers from the start frames on. In a capture that begins later, or after missing
// segments, it finds an FPDU at the beginning of a segment by its CRC.
package iwarp
