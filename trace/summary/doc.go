// Package summary says what is wrong in a trace, where, and how much.
//
//	s := summary.New(summary.Options{})
//	pipeline := trace.Pipeline{Outputs: []trace.Output{s}}
//	err := pipeline.Run(ctx, capture)
//	r := s.Report(summary.InputOf(&pipeline))
//
// A [Report] has the findings by kind, the flows, hosts and pairs of hosts with the most problems,
// the mix of verbs with their latencies, the congestion by DSCP, and the quality of the capture.
//
// # Bounds
//
// A Summary keeps the findings of up to 65,536 flows, 4,096 hosts and 8,192 pairs of hosts; what
// exceeds these limits is counted in the totals only. The report contains up to [Options.Worst]
// entries of each list.
package summary
