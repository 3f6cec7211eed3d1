// Package metrics exports the metrics of devices to Prometheus. The number of time series is
// limited: device names come from the configuration, programs under gorxe run are labelled only
// while they have queue pairs, and all other labels have values from tables of gorxe. No label
// contains a value that a peer chooses, or a key of memory.
package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorxe/gorxe/cm"
	"github.com/gorxe/gorxe/verbs"
)

// Collector collects the metrics of the devices that Devices returns.
type Collector struct {
	Devices  func() []*verbs.Device
	Counters func(*verbs.Device) map[string]uint64 // nil means those of the device only
	Draining func() bool
	Version  string
	// DaemonCounters calls f with the counters of the daemon and its built-in servers that belong
	// to no device. nil means that there are none.
	DaemonCounters func(f func(name string, value uint64))
}

// Describe sends nothing, because the set of counters depends on the devices.
func (c *Collector) Describe(chan<- *prometheus.Desc) {}

// gauge returns the description of a gauge.
func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gorxe_"+name, help, labels, nil)
}

var (
	info     = gauge("build_info", "Always 1; the label tells the version.", "version")
	draining = gauge("draining", "1 while the daemon is stopping, else 0.")
	port     = gauge("port_active", "1 while the device's port is active, 0 while its network is down.", "device")
	mtu      = gauge("path_mtu_bytes", "Largest path MTU of the port.", "device")
	gids     = gauge("gids", "Entries of the GID table.", "device")
	qps      = gauge("queue_pairs", "Queue pairs by type and state.", "device", "type", "state")
	programs = gauge("program_queue_pairs", "Queue pairs of a program under gorxe run.", "device", "program")
	qpLimit  = gauge("queue_pairs_limit", "Maximum number of queue pairs.", "device")
	queued   = gauge("send_queue_requests", "Work requests in the send queues of all queue pairs.", "device")
	unacked  = gauge("unacknowledged_packets", "Packets that were sent and are not acknowledged.", "device")
	early    = gauge("early_requests_held",
		"Request packets that are held until an earlier one comes, up to 4096 for each shard; each takes 4864 bytes.",
		"device")
	rnrWait = gauge("queue_pairs_rnr_wait", "Queue pairs waiting after an RNR NAK.", "device")
	keys    = gauge("memory_keys", "Memory regions and windows by kind.", "device", "kind")
	mrLimit = gauge("memory_regions_limit", "Maximum number of memory regions.", "device")
	bytes   = gauge("memory_registered_bytes",
		"Bytes of all memory regions; what several regions share counts for each.", "device")
	cqs    = gauge("completion_queues", "Completion queues.", "device")
	cqLost = gauge("completion_queues_overflowed", "Completion queues that lost completions.", "device")
	srqs   = gauge("shared_receive_queues", "Shared receive queues.", "device")
	cms    = gauge("cm_connections",
		"Connections of the connection manager by state, and requests for datagram queue pairs.", "device", "state")
	groups = gauge("multicast_groups", "Multicast groups that the device has joined.", "device")
)

// Collect sends the metrics of all devices.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	set := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	set(info, 1, c.Version)
	set(draining, truth(c.Draining()))
	if c.DaemonCounters != nil {
		c.DaemonCounters(func(name string, value uint64) { partCounter(name, value, ch) })
	}
	for _, d := range c.Devices() {
		name, attr, p := d.Name(), d.Attr(), d.PortAttr()
		set(port, truth(p.State == "PORT_ACTIVE"), name)
		set(mtu, float64(p.ActiveMTU), name)
		set(gids, float64(len(d.GIDs())), name)
		set(qpLimit, float64(attr.MaxQP), name)
		set(mrLimit, float64(attr.MaxMR), name)
		set(groups, float64(len(d.Groups())), name)
		queuePairs(d, set)
		memory(d, set)
		queues(d, set)
		connections(d, set)
		c.counters(d, ch)
	}
}

type setter func(d *prometheus.Desc, value float64, labels ...string)

// Types and states of queue pairs that are always exported, even if their number is 0.
var (
	types  = []verbs.QPType{verbs.RC, verbs.UC, verbs.UD}
	states = []verbs.QPState{verbs.RESET, verbs.INIT, verbs.RTR, verbs.RTS, verbs.SQD, verbs.SQE, verbs.ERR}
)

func queuePairs(d *verbs.Device, set setter) {
	type place struct {
		typ   verbs.QPType
		state verbs.QPState
	}
	count, owned := map[place]int{}, map[string]int{}
	for _, t := range types {
		for _, s := range states {
			count[place{t, s}] = 0
		}
	}
	var sends, packets, held, waiting int
	for q := range d.QPs() {
		count[place{q.Type, q.State}]++
		if owner := d.Owner(q.PD); owner != "" {
			owned[strings.ToValidUTF8(owner, "?")]++ // a label must be valid UTF-8
		}
		sends += q.SendQueue
		packets += q.Unacked()
		held += q.Early
		if q.RNRWait {
			waiting++
		}
	}
	for at, n := range count {
		set(qps, float64(n), d.Name(), at.typ.String(), at.state.String())
	}
	for owner, n := range owned {
		set(programs, float64(n), d.Name(), owner)
	}
	set(queued, float64(sends), d.Name())
	set(unacked, float64(packets), d.Name())
	set(early, float64(held), d.Name())
	set(rnrWait, float64(waiting), d.Name())
}

func memory(d *verbs.Device, set setter) {
	count := map[verbs.MRKind]int{verbs.MRRegion: 0, verbs.MRFast: 0, verbs.MRWindow1: 0, verbs.MRWindow2: 0}
	var sum uint64
	for m := range d.MRs() {
		count[m.Kind]++
		if m.Valid && (m.Kind == verbs.MRRegion || m.Kind == verbs.MRFast) {
			sum += m.Length
		}
	}
	for kind, n := range count {
		set(keys, float64(n), d.Name(), kind.String())
	}
	set(bytes, float64(sum), d.Name())
}

func queues(d *verbs.Device, set setter) {
	var all, lost, shared int
	for q := range d.CQs() {
		all++
		if q.Overflowed {
			lost++
		}
	}
	for range d.SRQs() {
		shared++
	}
	set(cqs, float64(all), d.Name())
	set(cqLost, float64(lost), d.Name())
	set(srqs, float64(shared), d.Name())
}

// cmStates are the names of all states of a connection.
var cmStates = func() (names []string) {
	for s := cm.State(0); !strings.HasPrefix(s.String(), "state "); s++ {
		names = append(names, s.String())
	}
	return names
}()

func connections(d *verbs.Device, set setter) {
	count := map[string]int{}
	for c := range d.CMs() {
		count[c.State]++
	}
	for _, state := range cmStates {
		set(cms, float64(count[state]), d.Name(), state)
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
