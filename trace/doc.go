// Package trace says what RoCEv2 packets mean: which message each belongs to, which verb that was, what was lost, why something
// was sent again and what a connection waited for.
//
// # From bytes to meaning
//
//	capture.Reader   a capture file, frame by frame
//	Decoder          a frame's RoCEv2 packets: their fields, and whether their ICRCs are right
//	Analyzer         what each packet does in its conversation; messages, flows and findings
//	Pipeline         all three, from frames to outputs
//
//	capture.Open(r) ─ Frame ─▶ Decoder.Decode ─ *Packet ─▶ Analyzer.Add ─ *Packet with Flow, Role, Message, Meaning, Findings
//
// Each step looks at one packet at a time and keeps a bounded amount, so that a capture of any length streams through. Package
// capture reads the files, package live a network interface. Packages text, json, pcapng and html write the packets, fields
// names their header fields, filter chooses packets by an expression, and lesson explains what can be learned from them.
//
// Nothing here has goroutines or locks; a value of these types is for one goroutine at a time.
package trace
