// Package trace explains RoCEv2, RoCEv1 and InfiniBand packets: the message and verb that each
// belongs to, what was lost, why a packet was retransmitted, and what a connection waited for.
//
// # From bytes to meaning
//
//	capture.Reader   reads the frames of a capture file
//	Decoder          finds the packets of a frame, decodes their headers and checks ICRCs
//	Analyzer         explains each packet in its conversation: messages, flows and findings
//	Pipeline         runs all three, from a source of frames to outputs
//
//	capture.Open(r) ─ Frame ─▶ Decoder.Decode ─ *Packet ─▶ Analyzer.Add ─ *Packet
//
// The Decoder sets the first part of a [Packet]; the Analyzer sets Flow, Role, Message, Again,
// Meaning and Findings.
//
// Flows are told apart by the virtual network of the packets, too: virtual networks may use the
// same addresses. See Flow.VNI.
//
// The Decoder finds packets in up to eight encapsulations (package tunnel). Packets of iWARP and
// Ultra Ethernet, and pause frames, have no BTH: they become a [Foreign], which the Analyzer does
// not process. Frames of all other protocols are counted by name; see [Decoder.Protocols].
//
// Every stage processes one packet at a time and keeps a bounded amount of state, so captures of
// any length can be streamed. The Analyzer follows up to 16,384 flows (at the limit, it evicts the
// one silent for longest), 1,024 open messages per end of a flow and 16,384 in all, and the state
// of 4,096 packets per direction and 262,144 in all; beyond these totals, each end of a flow still
// has 4 messages and 16 packets. Evicted flows and messages have Evicted set.
// Of the upper-layer protocols it follows 512 outstanding commands per flow and 32,768 in all.
//
// Package capture reads files, package live a network interface. Package tunnel removes
// encapsulations, package fabric decodes the headers of other networks, package iwarp iWARP.
// Packages text, columns, json, csv, pcapng and html write packets, messages and flows; package
// fields names their header fields, filter selects packets by an expression, and lesson explains
// what they demonstrate. Packages summary, series, latency and congestion compute statistics.
// Package ulp parses the headers of upper-layer protocols in SENDs: NVMe over Fabrics, iSER, SMB
// Direct and NFS over RDMA. Package join reads several captures, as one or to tell where between
// two capture points packets were lost, and why finds the flow and the cause for a line of a log.
//
// The packages use no goroutines and no locks. No type is safe for concurrent use, except where
// its documentation says so.
package trace
