// Package html makes one page of a trace that a browser shows without a network: a ladder of packets for each connection, their PSNs
// over time, and beside the selected packet what it means, with a lesson where a thing is seen for the first time.
//
//	p := html.New(html.Options{Title: "loss_write.pcap"})
//	pipeline := trace.Pipeline{Outputs: []trace.Output{p}}
//	err := pipeline.Run(ctx, capture)
//	p.WriteTo(file)
//
// # What is in the page
//
// The page holds headers, meanings and findings, and no byte of payload. It keeps the first [Options.Max] packets and says how many
// it left out.
//
// # Trust
//
// Everything that comes from a capture is text of a stranger. It stands in the page once, as JSON that [html/template] escapes, and
// the script puts it on the screen as text nodes only. The page's Content Security Policy lets run and style nothing but the code that
// is part of this package, by its hashes, and forbids every connection.
package html
