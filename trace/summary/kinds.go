package summary

import (
	"cmp"
	"net/netip"
	"slices"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/fabric"
)

const (
	// maxFlowKinds limits the counters of findings by flow and kind, and maxHostKinds those by host
	// and kind.
	maxFlowKinds = 1 << 16
	maxHostKinds = 1 << 14
	// maxKinds limits the counters by kind and level. The Analyzer has fewer.
	maxKinds = 256
)

// kinds counts findings by kind and level, and by flow and host.
type kinds struct {
	all   map[kindLevel]*Finding
	flows map[flowKind]uint64
	hosts map[hostKind]uint64
}

type kindLevel struct {
	kind  trace.Kind
	level trace.Level
}

type flowKind struct {
	flow *trace.Flow
	kindLevel
}

type hostKind struct {
	host netip.Addr
	kindLevel
}

func newKinds() kinds {
	return kinds{all: map[kindLevel]*Finding{}, flows: map[flowKind]uint64{}, hosts: map[hostKind]uint64{}}
}

// add counts f, a finding about p.
func (k *kinds) add(p *trace.Packet, f *trace.Finding) {
	key := kindLevel{f.Kind, f.Level}
	r := k.all[key]
	if r == nil {
		if len(k.all) >= maxKinds {
			return
		}
		r = &Finding{Kind: f.Kind, Level: f.Level, LevelName: f.Level.String(), FirstFrame: p.Number, Text: f.Text}
		k.all[key] = r
	}
	r.Count++
	if p.Flow != nil {
		count(k.flows, flowKind{p.Flow, key}, maxFlowKinds)
	}
	count(k.hosts, hostKind{p.Src.Addr(), key}, maxHostKinds)
}

// count increments m[key], unless that needs a new entry and there are limit entries.
func count[K comparable](m map[K]uint64, key K, limit int) {
	n, ok := m[key]
	if ok || len(m) < limit {
		m[key] = n + 1
	}
}

// report returns the findings by kind and level: the highest level first, then the most frequent.
func (k *kinds) report() []Finding {
	flows := map[flowKind]uint64{}
	for key, n := range k.flows {
		key.flow = key.flow.Current()
		flows[key] += n
	}
	out := map[kindLevel]*Finding{}
	for key, f := range k.all {
		out[key] = new(*f)
	}
	for key, n := range flows {
		r := out[key.kindLevel]
		r.Flows++
		if n > r.WorstCount || n == r.WorstCount && key.flow.Number < r.WorstFlow {
			r.WorstFlow, r.WorstCount = key.flow.Number, n
		}
	}
	worst := map[kindLevel]netip.Addr{}
	for key, n := range k.hosts {
		r := out[key.kindLevel]
		if n > r.HostCount || n == r.HostCount && key.host.Less(worst[key.kindLevel]) {
			worst[key.kindLevel], r.HostCount = key.host, n
			r.WorstHost = fabric.AddrText(key.host)
		}
	}
	all := make([]Finding, 0, len(out))
	for _, r := range out {
		all = append(all, *r)
	}
	slices.SortFunc(all, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(y.Level, x.Level), cmp.Compare(y.Kind.Weight(), x.Kind.Weight()),
			cmp.Compare(y.Count, x.Count), cmp.Compare(x.Kind, y.Kind))
	})
	return all
}
