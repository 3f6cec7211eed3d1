// Package series measures a trace over time: in intervals of equal length, how much each flow and
// all flows together sent and delivered, lost and retransmitted, how much was in flight, and the
// round trip times.
//
//	c := series.New(series.Options{})
//	pipeline := trace.Pipeline{Outputs: []trace.Output{c}}
//	err := pipeline.Run(ctx, capture)
//	for _, s := range c.Series() { … s.Rows … }
//
// # Bounds
//
// A Collector keeps up to [Options.Rows] rows per series. When a capture becomes longer than that
// many intervals, the interval doubles and pairs of rows are merged, also if the interval was
// chosen; [Collector.Interval] returns the result.
//
// Up to 1,000 flows have rows of their own. If there are more, a flow with losses, retransmissions,
// NAKs or CNPs takes the place of the flow that has the fewest of these, whose rows are added to
// those of the other flows; [Series.Since] tells. [Collector.Series] returns the [Options.Flows]
// worst of them and one series with the sums of all others.
//
// All series together have up to 262,144 rows of 168 bytes. When that many are in use, the flows
// with the fewest problems lose their rows to those of the other flows; when twice [Options.Flows]
// are left, the interval doubles.
package series
