package hostile

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorxe/gorxe/packet"
)

// Order is an order to a flooder.
type Order struct {
	Target  Target
	Pattern string
	Rate    int  // packets, or exchanges, per second; 0: unlimited
	Control bool // send to a closed port, except a Setup that is legal
}

// closedPort is a UDP and TCP port without a listener.
const closedPort = 4790

// callers is the number of concurrent exchanges over TCP.
const callers = 32

// flooder executes one order.
type flooder struct {
	Order
	p       Pattern
	flood   *Flood
	senders [sources]*sender
	frags   *sender
	sink    *sink
	sent    Sent
}

func newFlooder(o Order) (*flooder, error) {
	found := false
	fl := &flooder{Order: o}
	for _, p := range Patterns() {
		if p.Name == o.Pattern {
			fl.p, found = p, true
		}
	}
	if !found {
		return nil, fmt.Errorf("no pattern is named %q", o.Pattern)
	}
	if o.Control {
		fl.Target.ToolsTCP = closedPort
	}
	fl.flood = NewFlood(fl.Target)
	if fl.p.Call != nil {
		return fl, nil
	}
	var err error
	for i, a := range o.Target.Flooder {
		if fl.senders[i], err = newSender(a, o.Target.Addr, packet.Port, false); err != nil {
			fl.close()
			return nil, err
		}
	}
	if fl.frags, err = newSender(o.Target.Flooder[FromSelf], o.Target.Addr, packet.Port, true); err != nil {
		fl.close()
		return nil, err
	}
	if fl.sink, err = newSink(o.Target.Flooder[FromSelf], o.Target.Flooder[FromThird]); err != nil {
		fl.close()
		return nil, err
	}
	fl.flood.Seen = fl.sink.latest
	return fl, nil
}

func (fl *flooder) close() {
	for _, s := range append(fl.senders[:], fl.frags) {
		if s != nil {
			s.close()
		}
	}
	if fl.sink != nil {
		fl.sink.close()
	}
}

// run floods until ctx is done.
func (fl *flooder) run(ctx context.Context) error {
	defer fl.close()
	if fl.p.Call != nil {
		fl.call(ctx)
		return nil
	}
	if fl.p.Session && !fl.Control {
		hangUp, err := fl.flood.session(ctx, fl.p.Names)
		if err == nil {
			defer hangUp()
		}
	}
	if fl.p.Setup != nil && (fl.p.Legal || !fl.Control) {
		for _, d := range fl.p.Setup(fl.flood) {
			if err := fl.put(&d); err != nil {
				return err
			}
		}
		if err := fl.flush(); err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
		fl.sent = Sent{}
	}
	if fl.Control {
		for _, s := range append(fl.senders[:], fl.frags) {
			s.to(closedPort)
		}
	}
	begin, i := time.Now(), uint64(0)
	defer func() { fl.sent.Seconds = time.Since(begin).Seconds() }()
	for ctx.Err() == nil {
		due := i + batch
		if fl.Rate > 0 {
			due = uint64(time.Since(begin).Seconds() * float64(fl.Rate))
			if due <= i {
				pause(ctx, time.Millisecond)
				continue
			}
		}
		for due = min(due, i+batch); i < due; i++ {
			d := fl.p.Make(fl.flood, i)
			if err := fl.put(&d); err != nil {
				return err
			}
		}
		if err := fl.flush(); err != nil {
			return err
		}
	}
	return nil
}

func (fl *flooder) put(d *Datagram) error {
	fl.sent.Packets++
	fl.sent.Bytes += uint64(len(d.Bytes))
	if d.Cut {
		return fl.frags.put(d, fl.Target.Addr)
	}
	return fl.senders[d.From].put(d, fl.Target.Addr)
}

func (fl *flooder) flush() error {
	for _, s := range append(fl.senders[:], fl.frags) {
		if err := s.flush(); err != nil {
			return err
		}
	}
	return nil
}

// call makes exchanges over TCP.
func (fl *flooder) call(ctx context.Context) {
	var next, failed atomic.Uint64
	var wg sync.WaitGroup
	begin := time.Now()
	for range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				i := next.Add(1) - 1
				if fl.Rate > 0 {
					pause(ctx, time.Duration(float64(i)/float64(fl.Rate)*float64(time.Second))-time.Since(begin))
				}
				if fl.p.Call(ctx, fl.flood, i) != nil && ctx.Err() == nil {
					failed.Add(1)
				}
			}
		})
	}
	wg.Wait()
	fl.sent = Sent{Packets: next.Load(), Failed: failed.Load(), Seconds: time.Since(begin).Seconds()}
}

func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
