package hostile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"time"

	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/verbs"
)

// addresses are the addresses of a measurement.
type addresses struct {
	victim, good   netip.Addr
	flooder, third netip.Addr
}

var (
	onCables = addresses{netip.MustParseAddr("198.18.0.1"), netip.MustParseAddr("198.18.0.2"),
		netip.MustParseAddr("198.18.0.3"), netip.MustParseAddr("198.18.0.4")}
	onLoopback = addresses{netip.MustParseAddr("127.77.0.1"), netip.MustParseAddr("127.77.0.2"),
		netip.MustParseAddr("127.77.0.3"), netip.MustParseAddr("127.77.0.4")}
)

// stage holds the processes of the measurement of one pattern at one rate.
type stage struct {
	o       *Options
	at      addresses
	cables  bool
	victim  *child
	good    *child
	flooder *child
	bridge  *child
	tools   uint16
	friend  Place
}

// Run measures each pattern at each rate. The error reports that the measurement is not possible;
// violated bounds are in the results.
func Run(ctx context.Context, o Options) (out []Result, err error) {
	// The children are killed when the thread that started them ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, p := range o.Patterns {
		for _, rate := range o.Rates {
			if ctx.Err() != nil {
				return out, context.Cause(ctx)
			}
			r := Result{Pattern: p.Name, Does: p.Description, By: p.Actor, Rate: rate, Unheld: p.Unheld}
			if err := measure(ctx, &o, &p, &r); err != nil {
				r.Err = err.Error()
			}
			r.summarize()
			r.judge(&o)
			out = append(out, r)
			if o.Progress != nil {
				o.Progress(r)
			}
		}
	}
	return out, nil
}

func measure(ctx context.Context, o *Options, p *Pattern, r *Result) error {
	s := &stage{o: o, at: onLoopback, cables: os.Geteuid() == 0 && !o.Local}
	if s.cables {
		s.at = onCables
	}
	defer s.end()
	if err := s.begin(); err != nil {
		return err
	}
	if _, err := s.part(ctx, nil, 0.3); err != nil { // warm up
		return err
	}
	var err error
	if r.Memory[memoryBefore], _, err = s.victim.resident(); err != nil {
		return err
	}
	var before, after inside
	if err := s.victim.ask("look", nil, &before); err != nil {
		return err
	}
	var in, out Wire
	for r.wantsRound(o) {
		n, wire, err := s.round(ctx, p, r.Rate)
		if err != nil {
			return err
		}
		r.Rounds = append(r.Rounds, n)
		in.InBytes, in.InPackets = in.InBytes+wire.InBytes, in.InPackets+wire.InPackets
		out.OutBytes, out.OutPackets = out.OutBytes+wire.OutBytes, out.OutPackets+wire.OutPackets
	}
	if out.OutBytes > 0 {
		r.Amplified, r.Answers = float64(in.InBytes)/float64(out.OutBytes),
			float64(in.InPackets)/float64(max(1, out.OutPackets))
	}
	if err := errors.Join(s.victim.ask("look", nil, &after), s.victim.ask("collect", nil, nil)); err != nil {
		return err
	}
	now, most, err := s.victim.resident()
	r.Memory[memoryMost], r.Memory[memoryAfter] = most, now
	r.Goroutines = [2]int{before.Goroutines, after.Goroutines}
	if r.LogLines = after.LogLines - before.LogLines; r.LogLines > 0 {
		r.LogLast = after.LogLast
	}
	r.Counters = moved(before.Counters, after.Counters, 12)
	return err
}

// begin starts the processes and connects the good pair.
func (s *stage) begin() (err error) {
	// end also ends a child that did not start completely.
	start := func(role string, core int) *child {
		if err != nil {
			return nil
		}
		var c *child
		c, err = startChild(role, core, s.cables)
		return c
	}
	s.victim = start(roleVictim, s.o.Cores[0])
	s.good = start(roleGood, s.o.Cores[1])
	s.flooder = start(roleFlooder, s.o.Cores[1])
	if s.cables {
		s.bridge = start(roleSwitch, s.o.Cores[1])
	}
	if err != nil {
		return err
	}
	if s.cables {
		pids := []int{s.victim.cmd.Process.Pid, s.good.cmd.Process.Pid, s.flooder.cmd.Process.Pid}
		if err := s.bridge.ask("plug", pids, nil); err != nil {
			return err
		}
		err := errors.Join(
			s.victim.ask("network", Attachment{[]netip.Addr{s.at.victim}, s.at.third}, nil),
			s.good.ask("network", Attachment{Addrs: []netip.Addr{s.at.good}}, nil),
			s.flooder.ask("network", Attachment{Addrs: []netip.Addr{s.at.flooder, s.at.third}}, nil),
		)
		if err != nil {
			return err
		}
	}
	var info verbs.ConnInfo
	if err := errors.Join(s.victim.ask("open", s.at.victim, &s.tools),
		s.good.ask("open", s.at.good, &info)); err != nil {
		return err
	}
	if err := s.victim.ask("befriend", info, &s.friend); err != nil {
		return err
	}
	return errors.Join(s.good.ask("meet", s.friend, nil), s.good.ask("run", s.o.Traffic, nil))
}

func (s *stage) end() {
	for _, c := range []*child{s.flooder, s.good, s.victim, s.bridge} {
		c.end()
	}
}

// round measures the good pair alone, during the control and during the pattern. It also returns
// the traffic of the flooder's veth pair during the pattern.
func (s *stage) round(ctx context.Context, p *Pattern, rate int) (n Round, w Wire, err error) {
	if n.Quiet, err = s.part(ctx, nil, s.o.Seconds); err != nil {
		return n, w, fmt.Errorf("without a flood: %w", err)
	}
	order := Order{Pattern: p.Name, Rate: rate, Control: true}
	order.Target = Target{
		Addr: s.at.victim, Flooder: sourcesOf(s.at.flooder, s.at.third, s.at.good), GoodQPN: s.friend.Info.QPN,
		RpingSrv: uint16(config.Default().Rping.Port), ToolsTCP: s.tools,
	}
	if err := s.victim.ask("own", ownership{s.at.flooder, Needs{QPs: p.QPs, MTU: p.MTU}},
		&order.Target.Own); err != nil {
		return n, w, err
	}
	if n.Control, err = s.part(ctx, &order, s.o.Seconds); err != nil {
		return n, w, fmt.Errorf("beside the control: %w", err)
	}
	if err := s.victim.ask("own", ownership{s.at.flooder, p.Needs}, &order.Target.Own); err != nil {
		return n, w, err
	}
	order.Control = false
	before, err := s.wire()
	if err != nil {
		return n, w, err
	}
	if n.Hostile, err = s.part(ctx, &order, s.o.Seconds); err != nil {
		return n, w, err
	}
	after, err := s.wire()
	if err != nil {
		return n, w, err
	}
	w = Wire{after.InPackets - before.InPackets, after.InBytes - before.InBytes, after.OutPackets - before.OutPackets,
		after.OutBytes - before.OutBytes}
	if !s.cables {
		w.OutBytes, w.OutPackets = n.Hostile.Flood.Bytes, n.Hostile.Flood.Packets
	}
	// Remove the flooder's queue pairs and what they hold.
	return n, w, s.victim.ask("own", ownership{s.at.flooder, Needs{}}, nil)
}

// wire returns the traffic of the flooder's veth pair. On loopback it returns what the victim has
// sent and the good peer has not received, which includes the losses of the good pair.
func (s *stage) wire() (w Wire, err error) {
	if s.cables {
		return w, s.flooder.ask("traffic", nil, &w)
	}
	var v inside
	var g progress
	err = errors.Join(s.victim.ask("look", nil, &v), s.good.ask("done", nil, &g))
	if v.Counters["tx_bytes"] > g.Received {
		w.InBytes = v.Counters["tx_bytes"] - g.Received
	}
	return w, err
}

// part measures the good pair for the given time, during a flood if order is not nil.
func (s *stage) part(ctx context.Context, order *Order, seconds float64) (p Part, err error) {
	if order != nil {
		if err := s.flooder.ask("start", order, nil); err != nil {
			return p, err
		}
		pause(ctx, 50*time.Millisecond)
	}
	var before, after progress
	cpu, err := s.victim.used()
	if err := errors.Join(err, s.good.ask("done", nil, &before)); err != nil {
		return p, err
	}
	begin := time.Now()
	pause(ctx, time.Duration(seconds*float64(time.Second)))
	err = s.good.ask("done", nil, &after)
	p.Seconds = time.Since(begin).Seconds()
	used, cerr := s.victim.used()
	if err := errors.Join(err, cerr); err != nil {
		return p, err
	}
	p.Good, p.Victim = float64(after.Done-before.Done)/p.Seconds, (used-cpu).Seconds()/p.Seconds
	p.Resent = after.Resent - before.Resent
	if order != nil {
		if err := s.flooder.ask("stop", nil, &p.Flood); err != nil {
			return p, err
		}
	}
	if after.Broken != "" {
		return p, errors.New(after.Broken)
	}
	return p, context.Cause(ctx)
}

// JSON encodes results as JSON.
func JSON(results []Result) ([]byte, error) { return json.MarshalIndent(results, "", "\t") }
