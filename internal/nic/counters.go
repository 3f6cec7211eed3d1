package nic

import (
	"errors"
	"net"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/transport"
)

// Reasons for which the device itself drops a packet.
const (
	dropICRC         = iota // the ICRC is wrong
	dropPKey                // not in the default partition
	dropNotAdmitted         // the sender is not among Config.Peers
	dropStranger            // the source is not the queue pair's peer, or the destination is not its address
	dropUnknownQPN          // no queue pair has the number
	dropOwnMulticast        // multicast that came back to the queue pair that sent it
	dropShare               // for queue pair 1: the sender has used up its share of the receives
	dropBusy                // the shard is busy or its memory stalls, or a loopback queue is full
	numDrops
)

var dropNames = [numDrops]string{
	dropICRC: "bad_icrc", dropPKey: "bad_pkey", dropNotAdmitted: "not_admitted", dropStranger: "stranger",
	dropUnknownQPN:   "unknown_qpn",
	dropOwnMulticast: "own_multicast", dropShare: "gsi_share", dropBusy: "shard_busy",
}

// received holds the counters of received packets. A receiver counts a batch in a copy of its own
// without a lock, and adds the copy to the shard's counters when it has the shard's lock.
type received struct {
	frames, bytes uint64
	marked        uint64 // packets that passed inbox.check with ECN codepoint congestion experienced (CE)
	malformed     [bth.NumReasons]uint64
	drops         [numDrops]uint64
}

func (r *received) add(o *received) {
	r.frames += o.frames
	r.bytes += o.bytes
	r.marked += o.marked
	for i, n := range o.malformed {
		r.malformed[i] += n
	}
	for i, n := range o.drops {
		r.drops[i] += n
	}
}

// counters are the counters of a shard, guarded by its lock.
type counters struct {
	received
	txFrames, txBytes, txRefused uint64
	timeoutsPutOff               uint64
	verdicts                     [transport.NumVerdicts]uint64
	closedQPs                    transport.Counters // sum of closed queue pairs
	addedUpTo                    uint64             // last queue pair added by the running addUp, 0: none runs
	closedSince                  transport.Counters // sum of queue pairs closed after addUp added them
	lastRefusal                  error              // latest error of Link.Send
	refused, loggedRefusal       transport.Time     // time of lastRefusal, and time of the latest log message about one
}

// refused records an error of Link.Send. The frames that were not sent are lost, as if dropped by
// the network; connections retransmit them.
func (d *Device) refused(s *shard, now transport.Time, err error) {
	if errors.Is(err, net.ErrClosed) {
		return
	}
	n := 1
	var refusal *packet.SendError
	if errors.As(err, &refusal) {
		n = refusal.Refused
	}
	d.lost(s, now, n, err)
}

// lost records that n frames were not sent, and the reason err.
func (d *Device) lost(s *shard, now transport.Time, n int, err error) {
	c := &s.count
	c.txRefused += uint64(n)
	if c.lastRefusal == nil || now-c.loggedRefusal >= refusalLogInterval {
		c.loggedRefusal = now
		d.log.Warn("sending failed", "device", d.name, "error", err, "frames", c.txRefused)
	}
	c.lastRefusal, c.refused = err, now
}

// refusalLogInterval is the minimum time between two log messages about refused frames.
const refusalLogInterval = transport.Time(1e9)

// SendError returns the latest error with which the host refused to send a frame, nil if there
// was none. It may explain a RETRY_EXC_ERR. A shard whose memory stalls is left out.
func (d *Device) SendError() error {
	var last counters
	for _, s := range d.shards {
		if !s.mu.lockWithin(queryLockTimeout) {
			continue
		}
		if c := &s.count; c.lastRefusal != nil && (last.lastRefusal == nil || c.refused > last.refused) {
			last.lastRefusal, last.refused = c.lastRefusal, c.refused
		}
		s.mu.Unlock()
	}
	return last.lastRefusal
}

// Counters calls f with the name and value of every counter of the device, in a fixed order:
// packets and bytes of UDP payload; timeouts that were put off because the link's receiver was
// behind; packets that a switch marked for congestion (named like mlx5's counter); packets dropped
// by the device, by reason ("drop_"); verdicts of the transport on all other packets ("verdict_");
// the counters of the transport, named like rxe's hardware counters where they are the same; and
// those of the links ("link_").
func (d *Device) Counters(f func(name string, value uint64)) {
	c, own := d.addUp()
	f("rx_packets", c.frames)
	f("rx_bytes", c.bytes)
	f("tx_packets", c.txFrames)
	f("tx_bytes", c.txBytes)
	f("tx_refused", c.txRefused)
	f("tx_port_probes", d.portProbes.Load())
	f("timeouts_put_off", c.timeoutsPutOff)
	f("np_ecn_marked_roce_packets", c.marked)
	for i, n := range c.drops {
		f("drop_"+dropNames[i], n)
	}
	for r := bth.ReasonNone + 1; int(r) < bth.NumReasons; r++ {
		f("drop_"+r.String(), c.malformed[r])
	}
	for v := range transport.NumVerdicts {
		f("verdict_"+v.String(), c.verdicts[v])
	}
	own.Each(f)
	d.linkStats(f)
}

// addUp returns c, the sum of the shards' counters, and sum, the sum of the counters of all queue
// pairs, existing and closed. It holds a shard's lock for a limited number of queue pairs at a
// time. The values of each shard and queue pair are those of some moment during the call, so sums
// never decrease from call to call; a shard whose memory stalls contributes its previous values.
func (d *Device) addUp() (c counters, sum transport.Counters) {
	d.adding.Lock()
	defer d.adding.Unlock()
	for _, s := range d.shards {
		s.addUp()
		c.add(&s.sums.last.own)
		sum.Add(&s.sums.last.qps)
	}
	return c, sum
}

// sums are the sums of a shard's counters, guarded by Device.adding. last is complete. next is the
// partial sum of a call of addUp that could not lock the shard because its memory stalled,
// otherwise zero; the next call continues it.
type sums struct {
	last, next total
}

// total has a shard's own counters and the sum of the counters of its queue pairs.
type total struct {
	own counters
	qps transport.Counters
}

// addUp updates s.sums. Device.adding is held.
func (s *shard) addUp() {
	const some = 64
	for more := true; more; {
		n := 0
		if !s.mu.lockWithin(queryLockTimeout) {
			return
		}
		next := &s.sums.next
		s.inOrder.After(s.count.addedUpTo, func(number uint64, q *QP) bool {
			if n == some {
				return false
			}
			next.qps.Add(q.machine.Counters())
			s.count.addedUpTo = number
			n++
			return true
		})
		if more = n == some; !more {
			next.own.add(&s.count)
			next.qps.Add(&s.count.closedQPs)
			s.count.closedQPs.Add(&s.count.closedSince)
			s.count.addedUpTo, s.count.closedSince = 0, transport.Counters{}
			s.sums = sums{last: *next}
		}
		s.mu.Unlock()
	}
}

// add adds o's counters of packets and timeouts.
func (c *counters) add(o *counters) {
	c.received.add(&o.received)
	c.txFrames += o.txFrames
	c.txBytes += o.txBytes
	c.txRefused += o.txRefused
	c.timeoutsPutOff += o.timeoutsPutOff
	for i, n := range o.verdicts {
		c.verdicts[i] += n
	}
}

// addClosed adds the counters of q, which is being closed, to those of the closed queue pairs. The
// lock is held.
func (c *counters) addClosed(q *QP) {
	if q.number <= c.addedUpTo {
		c.closedSince.Add(q.machine.Counters())
	} else {
		c.closedQPs.Add(q.machine.Counters())
	}
}

// linkStats reports the counters of the links and of the group memberships. link_rx_queue_full is
// the counter to check when packets are lost on a host that sends to itself.
func (d *Device) linkStats(f func(name string, value uint64)) {
	sum := d.groups.stats()
	d.mu.Lock()
	sum.Add(d.leftLinks)
	for _, w := range d.links {
		if l, ok := w.link.(packet.StatsReporter); ok {
			sum.Add(l.Stats())
		}
	}
	d.mu.Unlock()
	f("link_tx_calls", sum.TxCalls)
	f("link_tx_no_neighbour", sum.TxNoNeighbour)
	f("link_tx_queue_full", sum.TxQueueFull)
	f("link_rx_calls", sum.RxCalls)
	f("link_rx_queue_full", sum.RxDropped)
	f("link_rx_cut_short", sum.RxMalformed)
}
