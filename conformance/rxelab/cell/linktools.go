package cell

import "slices"

// linkRuns are the parameters of the tools over links other than udp. The packets are the same as
// over udp, so a part of the runs of Core suffices: frames of all sizes, messages of many frames,
// and concurrent queue pairs.
var linkRuns = map[Kind][]Params{
	Pingpong: {{Size: 1, MTU: 256, Iters: 100}, {Size: 8193, MTU: 1024, Iters: 30},
		{Size: 1000003, MTU: 4096, Iters: 5}},
	Bandwidth: {{Size: 2, Iters: 100}, {All: true, Iters: 5}, {Size: 65536, QPs: 4, Iters: 10}},
	Latency:   {{Size: 2, Iters: 100}, {Size: 65536, Iters: 20}},
}

// linkTools returns the tools of Core with gorxe over links other than udp. veth of Linux 6.1
// does not redirect frames longer than a page to an XDP program, so it does not support a path
// MTU of 4096 there.
func linkTools() []Tool {
	var out []Tool
	for _, link := range []struct {
		kind   string
		suites []string
	}{{"raw", nil}, {"xdp", []string{"trixie"}}} {
		for _, t := range coreTools {
			t.Program = t.Name
			t.Name += ", " + link.kind
			t.Gorxe = append(slices.Clone(t.Gorxe), "--link", link.kind)
			t.Suites, t.Runs, t.Few = link.suites, linkRuns[t.Kind], true
			out = append(out, t)
		}
	}
	return out
}
