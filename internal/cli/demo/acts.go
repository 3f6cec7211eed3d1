package demo

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
)

// demo is a run of the demonstration: two devices, A and B, and the wire between them.
type demo struct {
	*app.App
	params *params
	style  app.Style
	wire   *wire
	scene  int    // number of the last heading
	wrs    uint64 // number of work requests that A has posted
	ends   [2]end
}

// act is one part of the demonstration.
type act struct {
	name      string
	byDefault bool // runs if the command names no act
	play      func(*demo, context.Context) error
}

var allActs = []act{
	{"write", true, (*demo).actWrite},
	{"read", true, (*demo).actRead},
	{"atomic", false, (*demo).actAtomic},
	{"send", true, (*demo).actSend},
	{"rnr", false, (*demo).actRNR},
	{"loss", true, (*demo).actLoss},
}

func actNames() (names []string) {
	for _, act := range allActs {
		names = append(names, act.name)
	}
	return names
}

func (p *params) checkActs() error {
	for _, name := range p.acts {
		if !slices.Contains(actNames(), name) {
			return app.Usagef("there is no act %q: choose some of %s", name, strings.Join(actNames(), ", "))
		}
	}
	return nil
}

// selectedActs returns the acts to run, always in the order of allActs: the link stays bad after
// actLoss.
func (p *params) selectedActs() (acts []act) {
	for _, act := range allActs {
		if slices.Contains(p.acts, act.name) || len(p.acts) == 0 && act.byDefault {
			acts = append(acts, act)
		}
	}
	return acts
}

// end is one device with one object of each kind.
type end struct {
	dev  *verbs.Device
	buf  []byte
	mr   *verbs.MR
	cq   *verbs.CQ
	qp   *verbs.QP
	info verbs.ConnInfo
}

// Sizes and addresses of the demonstration.
const (
	demoBuffer    = 16 << 10
	demoPathMTU   = 1024
	demoTimeout   = 12 // 16.8 ms: short, so that lost responses cause no long wait
	demoRNRTimer  = 20 // 10.24 ms: time for B to post a receive
	demoWriteSize = 6000
	demoReadSize  = 3500
	demoMessages  = 8
	demoDetails   = 2  // number of messages with losses that are shown packet by packet
	demoLines     = 15 // maximum number of lines with packets per message
)

// va are the addresses of both ends' memory.
var va = [2]uint64{0xa0000, 0xb0000}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.Stdout, format, args...) }

func (d *demo) heading(text string) {
	d.scene++
	d.printf("\n%s\n", d.style.Bold(fmt.Sprintf("%d. %s", d.scene, text)))
}

// open opens the devices, which then own the links. The recordings, if any, record at the ends of
// the links.
func (d *demo) open(links [2]packet.Link, recordings [2]*app.Recording) error {
	for i := range links {
		fault := fault.Config{Seed: d.params.seed*2 + uint64(i), Drop: d.params.loss / 100}
		link := links[i]
		if d.params.link == "pipe" {
			link = burstLink{link, d.wire, i}
		}
		record := func(l packet.Link) packet.Link { return l }
		r := recordings[i]
		if r != nil {
			record = func(l packet.Link) packet.Link { return r.Wrap(device(i), l) }
		}
		link = d.wire.tap(i, link, fault, record)
		// Probes depend on response times, but each run must have the same packets.
		unprobed := verbs.TransportConfig{ProbeAfter: 1 << 62}
		cfg := verbs.Config{Name: device(i), Seed: d.params.seed*2 + uint64(i), Transport: unprobed}
		if r != nil {
			cfg.Observer = r.Observer()
		}
		cfg.Links = []packet.Link{link}
		dev, err := d.App.Open(cfg)
		if err != nil {
			for _, l := range links[i:] {
				l.Close()
			}
			return err
		}
		d.ends[i].dev = dev
	}
	return nil
}

func (d *demo) close() {
	for i := range d.ends {
		if dev := d.ends[i].dev; dev != nil {
			dev.Close()
		}
	}
}

// fill fills b with data that depends only on the seed and on salt.
func (d *demo) fill(b []byte, salt uint64) {
	var key [32]byte
	key[0], key[1] = byte(salt), byte(d.params.seed)
	rand.NewChaCha8(key).Read(b)
}

// connect makes one queue pair at each end and connects them.
func (d *demo) connect(context.Context) error {
	over := "UDP port 4791"
	if d.params.link == "pipe" {
		over = "a network in memory"
	}
	d.printf("%s over %s\n", d.style.Bold("Two software RDMA NICs,"), over)
	psns := rand.New(rand.NewPCG(d.params.seed, 0))
	for i := range d.ends {
		e := &d.ends[i]
		e.buf = make([]byte, demoBuffer)
		pd := e.dev.AllocPD()
		var err error
		access := verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic
		if e.mr, err = pd.RegMR(e.buf, access, verbs.WithIOVA(va[i])); err != nil {
			return err
		}
		if e.cq, err = e.dev.CreateCQ(16); err != nil {
			return err
		}
		if e.qp, err = pd.CreateQP(verbs.QPInitAttr{SendCQ: e.cq}); err != nil {
			return err
		}
		if e.info, err = e.qp.Local(0, verbs.PSN(psns.Uint32()&0xffffff)); err != nil {
			return err
		}
	}
	d.heading("Connect: each end learns the other's queue pair number, first PSN and GID")
	attr := verbs.DefaultConnAttr()
	attr.PathMTU, attr.Timeout, attr.MinRNRTimer = demoPathMTU, demoTimeout, demoRNRTimer
	attr.Access |= verbs.RemoteAtomic
	for i := range d.ends {
		e := &d.ends[i]
		if err := e.qp.Connect(e.info, d.ends[1-i].info, attr); err != nil {
			return err
		}
		d.printf("  %s  QPN %06x  PSN %06x  GID %-18v %d bytes at %x, key %08x  %v\n", device(i), uint32(e.info.QPN),
			uint32(e.info.PSN), e.info.GID, e.mr.Len(), e.mr.Addr(), e.mr.RKey(), e.qp.State())
	}
	return nil
}

// one posts a work request on A's queue pair and waits for its completion.
func (d *demo) one(ctx context.Context, wr *verbs.SendWR) (verbs.WC, error) {
	if err := d.post(wr); err != nil {
		return verbs.WC{}, err
	}
	return d.completion(ctx, &d.ends[0])
}

// post posts a work request on A's queue pair, with a unique ID.
func (d *demo) post(wr *verbs.SendWR) error {
	d.wrs++
	wr.ID = d.wrs
	wr.Flags |= verbs.Signaled
	return d.ends[0].qp.PostSend(wr)
}

// completion waits for one completion, which must be successful.
func (d *demo) completion(ctx context.Context, e *end) (verbs.WC, error) {
	var wc [1]verbs.WC
	if _, err := e.cq.Wait(ctx, wc[:]); err != nil {
		return wc[0], err
	}
	if wc[0].Status != verbs.WCSuccess {
		d.show(d.wire.take())
		return wc[0], &session.CompletionError{WC: wc[0], Done: "the packets above", Device: e.dev,
			Peer: d.ends[1].info.GID}
	}
	return wc[0], nil
}

// show prints packets, at most demoLines of them.
func (d *demo) show(events []event) {
	lines := renderPackets(events, d.style)
	for i, line := range lines {
		if i == demoLines && len(lines) > demoLines+1 {
			d.printf("  … and %d more lines like these\n", len(lines)-i)
			return
		}
		d.printf("%s\n", line)
	}
}

// verdict prints the result of an act.
func (d *demo) verdict(who int, wc verbs.WC, text string) {
	line := fmt.Sprintf("  %s %s: %v %v. %s", d.style.Green("✓"), device(who), wc.Opcode, wc.Status, text)
	d.printf("%s\n", strings.TrimRight(line, " "))
}

// same returns an error unless got and want are equal.
func same(what string, got, want []byte) error {
	if i := app.FirstDiff(got, want); i >= 0 {
		return fmt.Errorf("demo: %s: byte %d is %#02x, want %#02x: gorxe has a bug", what, i, got[i], want[i])
	}
	return nil
}

// farewell prints commands to try next.
func (d *demo) farewell() {
	d.printf("\n%s\n", d.style.Bold("Try next:"))
	for _, l := range [][2]string{
		{"gorxe demo --trace f && gorxe trace f", "what each packet means"},
		{"gorxe devinfo -v -d 127.0.0.1", "what such a device offers"},
		{"gorxe perf write_bw -d 127.0.0.1", "how fast it is: this in one terminal,"},
		{"gorxe perf write_bw -d 127.0.0.2 127.0.0.1", "and this in another"},
		{"gorxe pingpong rc <host>", "against ibv_rc_pingpong on Linux rdma_rxe or an RNIC"},
	} {
		d.printf("  %s %s\n", pad(l[0], 43), l[1])
	}
}
