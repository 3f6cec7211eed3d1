package main

// rate is the sending rate of a requester under DCQCN (Zhu et al., "Congestion control for
// large-scale RDMA deployments", SIGCOMM 2015, section 3), without its byte counter.
type rate struct {
	line            int64 // rate of the port in Mbit/s
	current, target int64 // in Mbit/s
	alpha           int64 // estimate of congestion, in parts of one
	stage           int   // increases since the latest cut
	updated         int64 // time of the latest cut or increase
	free            int64 // time at which the next packet may be sent
}

const (
	one = 1 << 20
	// dcqcnGain is 1/g of the paper.
	dcqcnGain = 256
	// dcqcnTimer is the time between increases of the rate, in nanoseconds.
	dcqcnTimer = 55_000
	// dcqcnFast is the number of increases to the middle between current and target rate before the
	// target rate rises too, by dcqcnStep Mbit/s.
	dcqcnFast, dcqcnStep = 5, 40
	dcqcnMin             = 100 // minimum rate in Mbit/s
	// cnpInterval is the minimum time between two CNPs for a connection, in nanoseconds.
	cnpInterval = 50_000
)

func newRate(gigabits int64) rate {
	return rate{line: 1000 * gigabits, current: 1000 * gigabits, target: 1000 * gigabits, alpha: one}
}

// cut reduces the rate because of a CNP.
func (r *rate) cut(now int64) {
	r.recover(now)
	r.target = r.current
	r.current = max(dcqcnMin, r.current-r.current*r.alpha/(2*one))
	r.alpha += (one - r.alpha) / dcqcnGain
	r.stage, r.updated = 0, now
}

// recover increases the rate for the time since the latest change.
func (r *rate) recover(now int64) {
	for r.current < r.line && now-r.updated >= dcqcnTimer {
		r.updated += dcqcnTimer
		r.alpha -= r.alpha / dcqcnGain
		if r.stage++; r.stage > dcqcnFast {
			r.target = min(r.line, r.target+dcqcnStep)
		}
		r.current = (r.current + r.target) / 2
	}
	if r.current >= r.line {
		r.updated = now
	}
}

// sent counts a packet of n bytes.
func (r *rate) sent(now int64, n int) {
	r.recover(now)
	r.free = max(now, r.free) + int64(n)*8000/r.current
}
