// Package trace explains RoCEv2 packets: the message and verb that each belongs to, what was
// lost, why a packet was retransmitted, and what a connection waited for.
//
// # From bytes to meaning
//
//	capture.Reader   reads the frames of a capture file
//	Decoder          finds the RoCEv2 packets of a frame, decodes their headers and checks ICRCs
//	Analyzer         explains each packet in its conversation: messages, flows and findings
//	Pipeline         runs all three, from a source of frames to outputs
//
//	capture.Open(r) ─ Frame ─▶ Decoder.Decode ─ *Packet ─▶ Analyzer.Add ─ *Packet
//
// The Decoder sets the first part of a [Packet]; the Analyzer sets Flow, Role, Message, Again,
// Meaning and Findings.
//
// Every stage processes one packet at a time and keeps a bounded amount of state, so captures of
// any length can be streamed. The Analyzer follows up to 4,096 flows (at the limit, it evicts the
// one silent for longest), 1,024 open messages per end of a flow and 65,536 in all, and the state
// of 4,096 packets per direction and 524,288 in all. Evicted flows and messages have Evicted set.
// Package capture reads files, package live a network interface. Packages text, json, csv, pcapng
// and html write packets, messages and flows; package fields names their header fields, filter
// selects packets by an expression, and lesson explains what they demonstrate. Packages summary,
// series, latency and congestion compute statistics of a whole trace.
//
// The packages use no goroutines and no locks. No type is safe for concurrent use, except where
// its documentation says so.
package trace
