package perftest

import (
	"fmt"
	"net"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// everyRun calls f for each test with each meaningful combination of flags.
func everyRun(f func(name string, test Test, p Params)) {
	for _, test := range Tests {
		for _, qps := range []int{1, 2, 7} {
			for _, all := range []bool{false, true} {
				for _, duplex := range []bool{false, true} {
					for _, duration := range []bool{false, true} {
						if test.Latency() && (duplex || qps > 1) || all && duration {
							continue
						}
						p := Params{QPs: qps, All: all, Bidirectional: duplex, Duration: duration,
							Sizes: []uint64{65536}}
						if all {
							p.Sizes = AllSizes()
						}
						name := fmt.Sprintf("%v qps=%d all=%v b=%v D=%v", test, qps, all, duplex, duration)
						f(name, test, p)
						if p.Immediate = test.Write(); p.Immediate {
							f(name+" with immediate", test, p)
						}
					}
				}
			}
		}
	}
}

// whole returns a test from its first item on.
func whole(test Test, p Params) []Step { return append(Opening(), Script(test, p)...) }

func wire(steps []Step) []Step {
	var w []Step
	for _, s := range steps {
		if s.Kind.Wire() {
			w = append(w, s)
		}
	}
	return w
}

func TestBothEndsOfEveryTestTradeTheSameItems(t *testing.T) {
	everyRun(func(name string, test Test, p Params) {
		p.Role = exchange.Client
		client := Script(test, p)
		p.Role = exchange.Server
		if diff := cmp.Diff(wire(client), wire(Script(test, p))); diff != "" {
			t.Errorf("%s: client and server differ: %s", name, diff)
		}
	})
}

func TestEveryTestConnectsOnceAndRunsEachSize(t *testing.T) {
	everyRun(func(name string, test Test, p Params) {
		for _, p.Role = range []exchange.Role{exchange.Client, exchange.Server} {
			var connects, runs int
			received := map[uint64]bool{}
			for _, s := range Script(test, p) {
				switch s.Kind {
				case Connect:
					connects++
				case PostReceives:
					received[s.Size] = true
				case Run:
					if connects == 0 {
						t.Errorf("%s: traffic before the queue pairs are connected", name)
					}
					if (test.Send() || p.Immediate) != received[s.Size] {
						t.Errorf("%s: receives posted is %v", name, received[s.Size])
					}
					runs++
				}
			}
			waits := p.Role == exchange.Server && !p.Bidirectional &&
				(test.Fetches() || test == WriteBW && !p.Immediate)
			if want := len(p.Sizes); connects != 1 || runs != want && !waits || runs != 0 && waits {
				t.Errorf("%s %v: %d connects, %d runs, want 1 and %d", name, p.Role, connects, runs, want)
			}
		}
	})
}

func TestEveryTestRunsAgainstItself(t *testing.T) {
	everyRun(func(name string, test Test, p Params) {
		a, b := net.Pipe()
		keys := func(base uint32) (k []Key) {
			for i := range p.QPs {
				k = append(k, Key{QPN: base + uint32(i), PSN: base, VAddr: uint64(base) << 32, RKey: base})
			}
			return k
		}
		ends := [2]*fixed{
			{cycle: 4096, line: 64, mtu: 3, keys: keys(16), reports: []Report{{Size: 1, Average: 2}}},
			{cycle: 65536, line: 128, mtu: 5, keys: keys(1000), reports: []Report{{Size: 1, Average: 3}}},
		}
		done := make(chan error)
		drive := func(conn net.Conn, role exchange.Role) error {
			p := p
			p.Role = role
			return Drive(conn, role, whole(test, p), ends[role])
		}
		go func() { done <- drive(a, exchange.Server) }()
		if err := drive(b, exchange.Client); err != nil {
			t.Errorf("%s: client: %v", name, err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: server: %v", name, err)
		}
		for i, e := range ends {
			o := ends[1-i]
			if diff := cmp.Diff(o.keys, e.peerKeys); diff != "" || e.peerMTU != o.mtu || e.peerCycle != o.cycle ||
				e.peerLine != o.line {
				t.Errorf("%s: %v learnt keys %s, MTU %d, sizes %d and %d", name, exchange.Role(i), diff, e.peerMTU,
					e.peerCycle, e.peerLine)
			}
			want := 0
			switch {
			case p.Immediate && test == WriteBW:
				if p.Bidirectional && !p.Duration {
					want = len(p.Sizes)
				}
			case test == WriteBW || test == ReadBW || test == AtomicBW:
				want = 1
				if p.Bidirectional {
					want = len(p.Sizes)
				}
			case test == SendBW && p.Bidirectional && !p.Duration:
				want = len(p.Sizes)
			}
			if len(e.peerReports) != want {
				t.Errorf("%s: %v got %d reports, want %d", name, exchange.Role(i), len(e.peerReports), want)
			}
		}
		a.Close()
		b.Close()
	})
}

func TestAllSizesAreThePowersOfTwoUpTo8MiB(t *testing.T) {
	s := AllSizes()
	if len(s) != 23 || s[0] != 2 || s[22] != 8388608 {
		t.Errorf("got %d sizes from %d to %d, want 23 from 2 to 8388608", len(s), s[0], s[len(s)-1])
	}
}
