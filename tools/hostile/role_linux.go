package hostile

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/verbs"
)

// A process of a measurement reads requests from its input, one line of JSON each, and answers
// each with a line. It ends at the end of its input.
type (
	request struct {
		Op   string          `json:"op"`
		Data json.RawMessage `json:"data,omitempty"`
	}
	reply struct {
		Err  string          `json:"err,omitempty"`
		Data json.RawMessage `json:"data,omitempty"`
	}
)

// Roles of the processes.
const (
	roleVictim  = "victim"
	roleGood    = "good"
	roleFlooder = "flooder"
	roleSwitch  = "switch"
)

// IsRole reports whether name is the role of a process of a measurement.
func IsRole(name string) bool {
	return name == roleVictim || name == roleGood || name == roleFlooder || name == roleSwitch
}

// Serve runs a process of a measurement until its input ends.
func Serve(role string, in io.Reader, out io.Writer) error {
	p := &process{}
	ops := map[string]func(json.RawMessage) (any, error){"network": p.network, "traffic": p.traffic}
	switch role {
	case roleVictim:
		ops["open"], ops["befriend"], ops["own"], ops["look"], ops["collect"] = p.openVictim, p.befriend, p.own,
			p.look, p.collect
	case roleGood:
		ops["open"], ops["meet"], ops["run"], ops["done"] = p.openGood, p.meet, p.run, p.done
	case roleFlooder:
		ops["start"], ops["stop"] = p.start, p.stop
	case roleSwitch:
		ops["plug"] = p.plug
	}
	defer p.end()
	lines, enc := bufio.NewReader(in), json.NewEncoder(out)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var q request
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		if err := enc.Encode(answerTo(ops[q.Op], &q)); err != nil {
			return err
		}
	}
}

func answerTo(f func(json.RawMessage) (any, error), q *request) (r reply) {
	if f == nil {
		return reply{Err: "no operation is named " + q.Op}
	}
	v, err := f(q.Data)
	if err == nil {
		r.Data, err = json.Marshal(v)
	}
	if err != nil {
		r.Err = err.Error()
	}
	return r
}

// process is the state of a process.
type process struct {
	victim  *Victim
	dev     *verbs.Device
	log     countedLog
	good    *GoodEnd
	broken  chan error
	flooder *flooder
	flooded chan error
	cancel  context.CancelFunc
	ended   sync.WaitGroup
	stopAll []func()
}

func (p *process) end() {
	for _, f := range p.stopAll {
		f()
	}
	p.ended.Wait()
}

// countedLog counts the lines of a log and keeps the last one.
type countedLog struct {
	mu    sync.Mutex
	lines uint64
	last  []byte
}

func (l *countedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines += uint64(bytes.Count(b, []byte("\n")))
	l.last = append(l.last[:0], b...)
	return len(b), nil
}

func decoded[T any](data json.RawMessage) (v T, err error) {
	err = json.Unmarshal(data, &v)
	return v, err
}

// openVictim starts the daemon under attack, with all services.
func (p *process) openVictim(data json.RawMessage) (any, error) {
	addr, err := decoded[netip.Addr](data)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "gorxe-hostile")
	if err != nil {
		return nil, err
	}
	c := config.Default()
	c.Control.Socket = filepath.Join(dir, "socket")
	d := config.DefaultDevice("")
	d.Interface, d.Address = "", addr.String()
	c.Devices = []config.Device{d}
	plan, err := daemon.MakePlan(context.Background(), c, daemon.ThisHost())
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, failed := make(chan struct{}, 1), make(chan error, 1)
	opts := daemon.Options{
		Version: "hostile", Stderr: &p.log,
		Open: func(c verbs.Config) (*verbs.Device, error) {
			dev, err := verbs.Open(c)
			p.dev = dev
			return dev, err
		},
		Notify: func(string) error {
			select {
			case ready <- struct{}{}:
			default:
			}
			return nil
		},
	}
	p.ended.Go(func() { failed <- daemon.Run(ctx, plan, opts) })
	p.stopAll = append(p.stopAll, cancel, func() { os.RemoveAll(dir) })
	select {
	case <-ready:
	case err := <-failed:
		return nil, fmt.Errorf("the victim does not start: %w", err)
	}
	p.victim, err = NewVictim(p.dev)
	return c.Perftest.Port, err
}

func (p *process) befriend(data json.RawMessage) (any, error) {
	info, err := decoded[verbs.ConnInfo](data)
	if err != nil {
		return nil, err
	}
	return p.victim.Befriend(info)
}

// ownership describes a flooder's queue pairs at the victim.
type ownership struct {
	Flooder netip.Addr
	Needs   Needs
}

func (p *process) own(data json.RawMessage) (any, error) {
	o, err := decoded[ownership](data)
	if err != nil {
		return nil, err
	}
	return p.victim.Own(o.Flooder, o.Needs)
}

// inside is the internal state of the victim.
type inside struct {
	Counters   map[string]uint64
	LogLines   uint64
	LogLast    string
	Goroutines int
	Heap       uint64
}

func (p *process) look(json.RawMessage) (any, error) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	return inside{p.dev.Counters(), p.log.lines, string(bytes.TrimSpace(p.log.last)), runtime.NumGoroutine(),
		m.HeapAlloc}, nil
}

// collect returns unused memory to the host.
func (p *process) collect(json.RawMessage) (any, error) {
	debug.FreeOSMemory()
	return nil, nil
}

func (p *process) openGood(data json.RawMessage) (any, error) {
	addr, err := decoded[netip.Addr](data)
	if err != nil {
		return nil, err
	}
	dev, err := verbs.Open(verbs.Config{Device: addr.String(), Spin: -1})
	if err != nil {
		return nil, err
	}
	p.stopAll = append(p.stopAll, func() { dev.Close() })
	p.dev = dev
	if p.good, err = NewGoodEnd(dev); err != nil {
		return nil, err
	}
	return p.good.Info(), nil
}

func (p *process) meet(data json.RawMessage) (any, error) {
	at, err := decoded[Place](data)
	if err != nil {
		return nil, err
	}
	return nil, p.good.Meet(at)
}

func (p *process) run(data json.RawMessage) (any, error) {
	t, err := decoded[Traffic](data)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.stopAll = append([]func(){cancel}, p.stopAll...)
	p.broken = make(chan error, 1)
	p.ended.Go(func() { p.broken <- p.good.Run(ctx, t, 0) })
	return nil, nil
}

// progress is the progress of the good pair.
type progress struct {
	Done     uint64
	Broken   string // why it cannot continue, or ""
	Received uint64 // bytes
	Resent   uint64
}

func (p *process) done(json.RawMessage) (any, error) {
	c := p.dev.Counters()
	out := progress{Done: p.good.Done(), Received: c["rx_bytes"], Resent: c["retransmitted_pkts"]}
	select {
	case err := <-p.broken:
		out.Broken = err.Error()
		p.broken <- err
	default:
	}
	return out, nil
}

func (p *process) start(data json.RawMessage) (any, error) {
	o, err := decoded[Order](data)
	if err != nil {
		return nil, err
	}
	if p.flooder, err = newFlooder(o); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p.cancel, p.flooded = cancel, make(chan error, 1)
	go func(f *flooder, result chan<- error) { result <- f.run(ctx) }(p.flooder, p.flooded)
	return nil, nil
}

func (p *process) stop(json.RawMessage) (any, error) {
	p.cancel()
	err := <-p.flooded
	return p.flooder.sent, err
}
