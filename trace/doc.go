// Package trace says what RoCEv2 packets mean: which message each belongs to, which verb that was, what was lost, why something
// was sent again and what a connection waited for.
//
// # From bytes to meaning
//
//	Reader     a capture file, frame by frame
//	Decoder    a frame's RoCEv2 packets: their fields, and whether their ICRCs are right
//	Analyzer   what each packet does in its conversation; messages, flows and findings
//
//	Open(r) ─ Frame ─▶ Decoder.Decode ─ *Packet ─▶ Analyzer.Add ─ *Packet with Flow, Role, Message, Meaning, Findings
//
// Each step looks at one packet at a time and keeps a bounded amount, so that a capture of any length streams through. What is
// written of the packets (text, JSON, pcapng, a page of HTML) stands in the packages below this one, and so do the names and
// places of header fields (fields), the choice of packets by an expression (filter) and what is to be learned from them (lesson).
//
// Nothing here has goroutines or locks; a value of these types is for one goroutine at a time.
package trace
