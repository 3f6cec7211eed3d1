// Package html writes a trace as a single HTML page that works offline: a ladder diagram of the
// packets of each connection, their PSNs over time, and for the selected packet its meaning, with
// a lesson at the first example of each concept.
//
//	p := html.New(html.Options{Title: "loss_write.pcap"})
//	pipeline := trace.Pipeline{Outputs: []trace.Output{p}}
//	err := pipeline.Run(ctx, capture)
//	p.WriteTo(file)
//
// # Contents of the page
//
// The page contains headers, meanings and findings, but no payload. It contains the first
// [Options.Max] packets and states how many were left out.
//
// # Security
//
// All text from a capture is untrusted. The page contains it once, as JSON that [html/template]
// escapes, and the script displays it only through text nodes. The page's Content Security Policy
// allows only the script and style of this package, by hash, and forbids all connections.
package html
