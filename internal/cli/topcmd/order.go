package topcmd

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// order is an order of the rows. All orders end with the number of the flow.
type order struct {
	name    string
	compare func(a, b *sample) int // negative if a is above b
}

// orders lists all orders. The first one is the default.
var orders = []order{
	{"worst", worst},
	{"throughput", byCount(func(s *sample) uint64 { return s.payload })},
	{"packets", byCount(func(s *sample) uint64 { return s.packets })},
	{"resent", func(a, b *sample) int { return cmp.Compare(b.resent(), a.resent()) }},
	{"timeouts", byCount(func(s *sample) uint64 { return s.timeouts })},
	{"nak", byCount(func(s *sample) uint64 { return s.naks })},
	{"rnr", byCount(func(s *sample) uint64 { return s.rnrs })},
	{"cnp", byCount(func(s *sample) uint64 { return s.cnps })},
	{"rtt", func(a, b *sample) int { return cmp.Compare(b.rtt(), a.rtt()) }},
	{"flow", func(*sample, *sample) int { return 0 }},
}

// byCount returns an order in which more is above less.
func byCount(get func(*sample) uint64) func(a, b *sample) int {
	return func(a, b *sample) int { return cmp.Compare(get(b), get(a)) }
}

// worst orders flows by what is wrong with them: first those that failed and those with errors,
// then by the retransmitted share, timeouts, NAKs, RNR NAKs and CNPs, and throughput.
func worst(a, b *sample) int {
	return cmp.Or(
		cmp.Compare(b.broken(), a.broken()),
		cmp.Compare(b.resent(), a.resent()),
		cmp.Compare(b.timeouts, a.timeouts),
		cmp.Compare(b.naks+b.rnrs+b.cnps, a.naks+a.rnrs+a.cnps),
		cmp.Compare(b.payload, a.payload),
		cmp.Compare(b.packets, a.packets),
	)
}

// broken returns 2 if the flow failed, 1 if the interval has errors, otherwise 0.
func (s *sample) broken() int {
	switch {
	case s.flow.Err != "":
		return 2
	case s.errors > 0:
		return 1
	}
	return 0
}

// resent returns the share of data packets that were retransmissions, 0 to 1.
func (c *counts) resent() float64 {
	if c.data == 0 {
		return 0
	}
	return float64(c.again) / float64(c.data)
}

// rtt returns the mean RTT of the interval, 0 without a sample.
func (c *counts) rtt() time.Duration {
	if c.rtts == 0 {
		return 0
	}
	return c.rttSum / time.Duration(c.rtts)
}

// sorted sorts all in an order.
func (o *order) sorted(all []sample) {
	slices.SortFunc(all, func(a, b sample) int {
		return cmp.Or(o.compare(&a, &b), cmp.Compare(a.flow.Number, b.flow.Number))
	})
}

// orderCalled returns the index of the order called name, or -1.
func orderCalled(name string) int {
	return slices.IndexFunc(orders, func(o order) bool { return o.name == name })
}

// orderNames returns the names of all orders.
func orderNames() string {
	var names []string
	for _, o := range orders {
		names = append(names, o.name)
	}
	return strings.Join(names, ", ")
}
