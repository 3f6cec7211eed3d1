package hostile

import (
	"bytes"
	"errors"
	"net/netip"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

var smokeAddrs = addresses4{
	victim: netip.MustParseAddr("192.0.2.1"), good: netip.MustParseAddr("192.0.2.2"),
	flooder: netip.MustParseAddr("192.0.2.3"), third: netip.MustParseAddr("192.0.2.4"),
}

type addresses4 struct{ victim, good, flooder, third netip.Addr }

const (
	smokePackets = 300
	smokePort    = 7174
	// smokeAmplified is the maximum number of bytes that a victim may send to the flooder's
	// addresses for each byte of a flood. It does not apply to requested data and the victim's
	// own requests; see smokeHeld.
	smokeAmplified = 4
)

// smokeHeld reports whether smokeAmplified applies to a pattern: not to READs, which request
// data, nor to patterns with which the victim's program sends to the flooder.
func smokeHeld(p *Pattern) bool {
	switch p.Name {
	case "dup-read-64k", "dup-read-1m", "dup-read-2g", "dup-read-middle", "dup-read-qps", "dup-read-256", "new-reads":
		return false
	}
	return !p.Writes && !p.Reads
}

// smoke is a victim, its good peer and a flooder on an in-memory network.
type smoke struct {
	t      *testing.T
	net    *pipe.Net
	victim *Victim
	dev    *verbs.Device
	goodOn *verbs.Device
	good   *GoodEnd
	flood  *Flood
	links  [sources]packet.Link
	batch  *packet.Batch
	reader sync.WaitGroup
	seen   struct {
		sync.Mutex
		psn   map[bth.QPN]bth.PSN
		bytes uint64 // sent by the victim
	}
}

func newSmoke(t *testing.T, p *Pattern) *smoke {
	t.Helper()
	s := &smoke{t: t, net: pipe.NewNet(), batch: packet.NewBatch(1)}
	s.seen.psn = map[bth.QPN]bth.PSN{}
	s.dev, s.goodOn = s.device(smokeAddrs.victim), s.device(smokeAddrs.good)
	var err error
	if s.victim, err = NewVictim(s.dev); err != nil {
		t.Fatal(err)
	}
	if s.good, err = NewGoodEnd(s.goodOn); err != nil {
		t.Fatal(err)
	}
	at, err := s.victim.Befriend(s.good.Info())
	if err == nil {
		err = s.good.Meet(at)
	}
	if err != nil {
		t.Fatal(err)
	}
	own, err := s.victim.Own(smokeAddrs.flooder, p.Needs)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.dev.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(smokeAddrs.victim, smokePort), 16)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range []netip.Addr{smokeAddrs.flooder, smokeAddrs.third} {
		s.links[i] = s.open(a)
		s.reader.Go(func() { s.read(s.links[i]) })
	}
	s.flood = NewFlood(Target{
		Addr: smokeAddrs.victim, Flooder: sourcesOf(smokeAddrs.flooder, smokeAddrs.third, smokeAddrs.good),
		Own: own, GoodQPN: at.Info.QPN, RpingSrv: smokePort,
	})
	s.flood.Seen = func(q bth.QPN) (bth.PSN, bool) {
		s.seen.Lock()
		defer s.seen.Unlock()
		psn, any := s.seen.psn[q]
		return psn, any
	}
	t.Cleanup(func() {
		s.victim.Close()
		err := errors.Join(l.Close(), s.dev.Close(), s.goodOn.Close(), s.links[FromSelf].Close(),
			s.links[FromThird].Close())
		s.reader.Wait()
		if err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *smoke) open(a netip.Addr) packet.Link {
	s.t.Helper()
	l, err := s.net.Open(a, 9000)
	if err != nil {
		s.t.Fatal(err)
	}
	return l
}

func (s *smoke) device(a netip.Addr) *verbs.Device {
	s.t.Helper()
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{s.open(a)}, ConnManager: true})
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// read receives what is sent to one of the flooder's addresses.
func (s *smoke) read(l packet.Link) {
	rb := packet.NewRecvBatch(16)
	for l.Recv(rb) == nil {
		s.seen.Lock()
		for _, f := range rb.Frames {
			s.seen.bytes += uint64(len(f.Data))
			var p bth.Packet
			if p.Decode(f.Data) == nil && p.Opcode.Info().Request() {
				s.seen.psn[p.DestQP] = p.PSN
			}
		}
		s.seen.Unlock()
	}
}

// send delivers a datagram of the flood to the victim.
func (s *smoke) send(d Datagram) (n uint64) {
	s.t.Helper()
	l := s.links[d.From]
	path := packet.Path{Src: l.Local(), Dst: smokeAddrs.victim}
	f := s.batch.AppendFrame()
	f.Path = &path
	f.Payload = append(f.Payload, d.Bytes)
	if d.Sealed || d.Broken {
		f.Trailer = f.Trailer[:bth.ICRCLen]
	}
	n = uint64(f.Len())
	l.Prepare(s.batch)
	if f.Trailer = f.Trailer[:0]; d.Sealed || d.Broken {
		h := bth.Header4{
			Src: path.Src.As4(), Dst: path.Dst.As4(), ID: f.ID, FlagsFragment: f.FlagsFragment, SrcPort: f.SrcPort,
			DstPort: packet.Port,
			UDPLen:  bth.UDPHeaderLen + int(n),
		}
		v := bth.ICRC(h.Seed(), d.Bytes)
		if d.Broken {
			v = ^v
		}
		f.Trailer = bth.AppendICRC(f.Trailer, v)
	}
	// Datagrams that do not fit in the victim's queue are lost.
	if err := l.Send(s.batch); err != nil {
		s.t.Fatal(err)
	}
	s.batch.Reset()
	return n
}

// Beside each pattern the good pair's requests complete, its memory stays unchanged, and the
// victim sends a stranger little more than it receives.
func TestTheGoodPairOutlivesEachPattern(t *testing.T) {
	packets := uint64(smokePackets)
	if testing.Short() {
		packets /= 3
	}
	for _, p := range Patterns() {
		d := Datagram{}
		if p.Make != nil {
			d = p.Make(NewFlood(Target{
				Addr: smokeAddrs.victim, Flooder: sourcesOf(smokeAddrs.flooder, smokeAddrs.third, smokeAddrs.good),
				Own: make([]Owned, 16),
			}), 0)
		}
		if p.Call != nil || p.Session || d.From >= FromGood || d.Cut {
			continue // they need sockets: make hostile
		}
		t.Run(p.Name, func(t *testing.T) {
			s := newSmoke(t, &p)
			if err := s.good.Run(t.Context(), Mixed, 8); err != nil {
				t.Fatal(err)
			}
			var flooded uint64
			if p.Setup != nil {
				for _, d := range p.Setup(s.flood) {
					flooded += s.send(d)
				}
			}
			for i := range packets {
				flooded += s.send(p.Make(s.flood, i))
				if i%100 == 99 {
					if err := s.good.Run(t.Context(), Mixed, 8); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := s.good.Run(t.Context(), Mixed, 32); err != nil {
				t.Fatal(err)
			}
			s.seen.Lock()
			got := s.seen.bytes
			s.seen.Unlock()
			if smokeHeld(&p) && got > smokeAmplified*flooded {
				t.Errorf("the victim sent %d bytes for %d", got, flooded)
			}
			if left := s.victim.bytes(); bytes.Count(left, []byte{goodByte}) != len(left) {
				t.Error("the good pair's memory was written to by another")
			}
		})
	}
}

func TestPatternsHaveNamesOfTheirOwnAndSayWhatTheyDo(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range Patterns() {
		if seen[p.Name] || p.Description == "" || p.Actor == "" || (p.Make == nil) == (p.Call == nil) {
			t.Errorf("pattern %q", p.Name)
		}
		seen[p.Name] = true
	}
	if _, err := Matching("no such"); err == nil {
		t.Error("a name that matches nothing is taken")
	}
	if got, err := Matching("^dup-read"); err != nil || len(got) != 6 {
		t.Errorf("%d patterns, %v", len(got), err)
	}
}

func TestBoundsAreHeldAgainstMedians(t *testing.T) {
	round := func(control, hostile float64) Round {
		return Round{Quiet: Part{Good: 100}, Control: Part{Good: control},
			Hostile: Part{Good: hostile, Seconds: 1, Flood: Sent{Packets: 5, Seconds: 1}}}
	}
	for _, c := range []struct {
		name   string
		r      Result
		o      Options
		broken int
	}{
		{"enough", Result{Rate: 1, Rounds: []Round{round(50, 45)}}, Options{Min: 0.8}, 0},
		{"one bad round of three", Result{Rate: 1, Rounds: []Round{round(50, 45), round(50, 0), round(50, 45)}},
			Options{Min: 0.8}, 0},
		{"too little", Result{Rate: 1, Rounds: []Round{round(50, 30)}}, Options{Min: 0.8}, 1},
		{"enough at full rate", Result{Rounds: []Round{round(50, 30)}}, Options{Min: 0.8, MinFull: 0.5}, 0},
		{"not held", Result{Rate: 1, Unheld: "why", Rounds: []Round{round(50, 30)}}, Options{Min: 0.8}, 0},
		{"not measured", Result{Rate: 1, Err: "the victim has ended"}, Options{}, 1},
		{"amplified", Result{Rate: 1, Rounds: []Round{round(50, 45)}, Amplified: 3},
			Options{Min: 0.8, MaxAmplified: 2}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.summarize()
			c.r.judge(&c.o)
			if len(c.r.Broken) != c.broken {
				t.Errorf("broken: %q, want %d", c.r.Broken, c.broken)
			}
		})
	}
}
