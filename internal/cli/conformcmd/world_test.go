package conformcmd

import (
	"bytes"
	"context"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/conformance/wire"
	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/spf13/cobra"
)

// fakeLink answers each request with an ACK, unless it is silent.
type fakeLink struct {
	local  netip.Addr
	silent bool
	raw    bool
	in     chan *wire.Received
}

func (l *fakeLink) Local() netip.Addr { return l.local }
func (l *fakeLink) Raw() bool         { return l.raw }
func (l *fakeLink) MTU() int          { return 1500 }
func (l *fakeLink) Close() error      { return nil }

func (l *fakeLink) Send(dst netip.Addr, p *wire.Packet) ([]byte, error) {
	if !l.silent {
		r := bth.Packet{Opcode: bth.RCAck, DestQP: testerQPN, PSN: p.PSN, AETH: bth.AETH{Syndrome: bth.AckUnlimited}}
		l.in <- &wire.Received{Packet: r, At: time.Now(), Src: netip.AddrPortFrom(dst, 4791),
			Dst: netip.AddrPortFrom(l.local, 4791), Bytes: append(r.Append(nil), 0, 0, 0, 0)}
	}
	return append(p.Append(nil), 0, 0, 0, 0), nil
}

func (l *fakeLink) Recv(deadline time.Time) (*wire.Received, error) {
	select {
	case r := <-l.in:
		return r, nil
	case <-time.After(time.Until(deadline)):
		return nil, wire.ErrTimeout
	}
}

// testerQPN is the queue pair of the latest connection. The tests run one after the other.
var testerQPN bth.QPN

// fakeDevice runs programs without a process.
type fakeDevice struct {
	stock  *device.Stock
	broken bool // programs do not start
	closed bool
}

func (d *fakeDevice) Open(_ context.Context, p conformance.Program, l conformance.Local) (conformance.Peer, error) {
	if d.broken {
		return nil, context.DeadlineExceeded
	}
	if d.stock.Ask != nil {
		d.stock.Ask(p.String() + " -p 18515")
	}
	testerQPN = l.QPN
	return &fakePeer{addr: d.stock.Addr}, nil
}

func (d *fakeDevice) Close() error { d.closed = true; return nil }

type fakePeer struct{ addr netip.Addr }

func (p *fakePeer) Target() conformance.Target {
	return conformance.Target{Addr: p.addr, QPN: 0x11, PSN: 1, RKey: 7, VA: 0x1000, Length: 4096, MTU: 1024}
}
func (*fakePeer) Go() error      { return nil }
func (*fakePeer) Output() string { return "done\n" }
func (*fakePeer) Close() error   { return nil }

// fakeCases are cases with each kind of end.
func fakeCases() []*conformance.Case {
	c := func(id string, l conformance.Level, p conformance.Program,
		run func(*conformance.T)) *conformance.Case {
		return &conformance.Case{ID: id, Level: l, Program: p, Run: run, Rule: "Rule " + id + " holds.",
			Source: "IBA 9"}
	}
	return []*conformance.Case{
		c("psn/1", conformance.Shall, conformance.WriteServer, func(t *conformance.T) { t.Connect().Control() }),
		c("psn/2", conformance.Shall, conformance.ReadServer, func(t *conformance.T) {
			k := t.Connect()
			t.Note("the provocation")
			k.Send(k.Write(0, make([]byte, 8)))
			k.Expect(conformance.NakOf(k.PSN, bth.NakPSNSequence))
		}),
		c("psn/3", conformance.Should, conformance.WriteServer, func(t *conformance.T) {
			t.Connect()
			t.Fail("too late")
		}),
		c("rnr/1", conformance.Observed, conformance.WriteServer, func(t *conformance.T) {
			t.Connect().Control()
			t.Sample("wait", "µs", 12)
			t.Observe("it waits")
		}),
		c("uc/1", conformance.Shall, conformance.UCSendServer, func(t *conformance.T) { t.Unsupported("no UC") }),
		c("cm/1", conformance.Shall, conformance.CMServer, func(t *conformance.T) { t.NotRun("no cable") }),
	}
}

// world is what a test runs commands in.
type world struct {
	env
	link *fakeLink
	dev  *fakeDevice
}

func newWorld() *world {
	w := &world{link: &fakeLink{in: make(chan *wire.Received, 64)}, dev: &fakeDevice{}}
	w.cases = fakeCases()
	w.now = time.Now
	w.listen = map[string]func(netip.Addr) (wire.Link, error){
		"udp": func(a netip.Addr) (wire.Link, error) { w.link.local = a; return w.link, nil },
		"raw": func(netip.Addr) (wire.Link, error) { return nil, wire.ErrRaw },
	}
	w.device = func(s *device.Stock) conformance.Device { w.dev.stock = s; return w.dev }
	return w
}

// result is the result of a command.
type result struct {
	code           int
	stdout, stderr string
}

// locked is a buffer that several goroutines use.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (w *world) run(ctx context.Context, args ...string) result {
	var out, errs locked
	a := &app.App{Stdout: &out, Stderr: &errs,
		Commands: []app.Command{func(a *app.App) *cobra.Command { return command(a, &w.env) }}}
	code := a.Main(ctx, append([]string{"conform"}, args...))
	return result{code, out.b.String(), errs.b.String()}
}

func has(t *testing.T, text string, all ...string) {
	t.Helper()
	for _, s := range all {
		if !strings.Contains(text, s) {
			t.Errorf("no %q in\n%s", s, text)
		}
	}
}
