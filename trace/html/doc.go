// Package html writes a trace as a single HTML page that works offline: a ladder diagram of the
// packets of each connection, their PSNs, rates and round trips over time, the connections with the
// worst first, and for the selected packet its meaning, with a lesson at the first example of each
// concept. Its filter has the fields of package filter, with the same meaning.
//
//	p := html.New(html.Options{Title: "loss_write.pcap"})
//	pipeline := trace.Pipeline{Outputs: []trace.Output{p}}
//	err := pipeline.Run(ctx, capture)
//	p.WriteTo(file)
//
// # Contents of the page
//
// The page contains headers, meanings and findings, but no payload. It contains up to [Options.Max]
// packets: of a larger capture those with warnings and errors, those around them, and the first
// others. It states where and how many packets were left out. The plots over time and the numbers
// of warnings and errors by kind are of all packets; the intervals of the plots grow with the
// capture.
//
// A page of one connection opens at the first warning or error. A page of several opens at the
// first error of the worst connection or, if there is no error, at its first warning other than a
// congestion notification.
//
// # Security
//
// All text from a capture is untrusted. The page contains it once, as JSON that [html/template]
// escapes, and the script displays it only through text nodes. The page's Content Security Policy
// allows only the script and style of this package, by hash, and forbids all connections.
package html
