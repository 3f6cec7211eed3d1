package cell

import "slices"

// linkRuns are what the tools are run with over the links that others than udp are: what is sent is the same, so a part of the core's
// runs shows how it is sent. Frames of all sizes, messages of many, and queue pairs side by side.
var linkRuns = map[Kind][]Params{
	Pingpong:  {{Size: 1, MTU: 256, Iters: 100}, {Size: 8193, MTU: 1024, Iters: 30}, {Size: 1000003, MTU: 4096, Iters: 5}},
	Bandwidth: {{Size: 2, Iters: 100}, {All: true, Iters: 5}, {Size: 65536, QPs: 4, Iters: 10}},
	Latency:   {{Size: 2, Iters: 100}, {Size: 65536, Iters: 20}},
}

// linkTools are the core's tools with gorxe over links of other kinds than udp. The veth of Linux 6.1 redirects no frame that takes
// more than a page to a program of xdp: there a path MTU of 4096 cannot be had.
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
