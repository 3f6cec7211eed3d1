package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/gorxe/gorxe"
	"github.com/gorxe/gorxe/packet"
)

// demo is a performance: two devices, A and B, and the wire between them.
type demo struct {
	*app
	params *demoParams
	style  style
	wire   *demoWire
	ends   [2]demoEnd
}

// demoEnd is one device with one of everything.
type demoEnd struct {
	dev  *gorxe.Device
	buf  []byte
	mr   *gorxe.MR
	cq   *gorxe.CQ
	qp   *gorxe.QP
	info gorxe.ConnInfo
}

// Sizes and addresses of the performance.
const (
	demoBuffer    = 16 << 10
	demoPathMTU   = 1024
	demoTimeout   = 12 // 16.8 ms: the bad link's lost answers shall not be waited for long
	demoWriteSize = 6000
	demoReadSize  = 3500
	demoMessages  = 8
	demoDetails   = 2 // eventful messages shown packet by packet
	demoLines     = 15
)

var demoVA = [2]uint64{0xa0000, 0xb0000}

func (d *demo) printf(format string, args ...any) { fmt.Fprintf(d.stdout, format, args...) }

func (d *demo) heading(n int, text string) {
	d.printf("\n%s\n", d.style.bold(fmt.Sprintf("%d. %s", n, text)))
}

// open makes the devices; they own the links from then on.
func (d *demo) open(links [2]packet.Link) error {
	for i := range links {
		fault := packet.FaultConfig{Seed: d.params.seed*2 + uint64(i), Drop: d.params.loss / 100}
		link := links[i]
		if d.params.link == "pipe" {
			link = burstLink{link, d.wire, i}
		}
		dev, err := d.app.open(gorxe.Config{
			Name: device(i), Links: []packet.Link{d.wire.tap(i, link, fault)}, Seed: d.params.seed*2 + uint64(i),
		})
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

// fill makes b a piece of data that is the same for the same seed and salt.
func (d *demo) fill(b []byte, salt uint64) {
	var key [32]byte
	key[0], key[1] = byte(salt), byte(d.params.seed)
	rand.NewChaCha8(key).Read(b)
}

// connect makes one queue pair at each end and tells each of the other.
func (d *demo) connect(context.Context) error {
	over := "UDP port 4791"
	if d.params.link == "pipe" {
		over = "a network in memory"
	}
	d.printf("%s over %s\n", d.style.bold("Two RDMA NICs made of software,"), over)
	psns := rand.New(rand.NewPCG(d.params.seed, 0))
	for i := range d.ends {
		e := &d.ends[i]
		e.buf = make([]byte, demoBuffer)
		pd := e.dev.AllocPD()
		var err error
		access := gorxe.LocalWrite | gorxe.RemoteWrite | gorxe.RemoteRead
		if e.mr, err = pd.RegMR(e.buf, access, gorxe.WithIOVA(demoVA[i])); err != nil {
			return err
		}
		if e.cq, err = e.dev.CreateCQ(16); err != nil {
			return err
		}
		if e.qp, err = pd.CreateQP(gorxe.QPInitAttr{SendCQ: e.cq}); err != nil {
			return err
		}
		if e.info, err = e.qp.Local(0, gorxe.PSN(psns.Uint32()&0xffffff)); err != nil {
			return err
		}
	}
	d.heading(1, "Connect: each end learns the other's queue pair number, first PSN and GID")
	attr := gorxe.DefaultConnAttr()
	attr.PathMTU, attr.Timeout = demoPathMTU, demoTimeout
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
func (d *demo) one(ctx context.Context, wr *gorxe.SendWR) (gorxe.WC, error) {
	wr.Flags |= gorxe.Signaled
	a := &d.ends[0]
	if err := a.qp.PostSend(wr); err != nil {
		return gorxe.WC{}, err
	}
	return d.completion(ctx, a)
}

// completion waits for one completion, which must be good.
func (d *demo) completion(ctx context.Context, e *demoEnd) (gorxe.WC, error) {
	var wc [1]gorxe.WC
	if _, err := e.cq.Wait(ctx, wc[:]); err != nil {
		return wc[0], err
	}
	if wc[0].Status != gorxe.WCSuccess {
		d.show(d.wire.take())
		return wc[0], &completionError{wc[0], "the packets above", e.dev, d.ends[1].info.GID}
	}
	return wc[0], nil
}

// show prints packets, of very many only the first.
func (d *demo) show(events []demoEvent) {
	lines := renderPackets(events, d.style)
	for i, line := range lines {
		if i == demoLines && len(lines) > demoLines+1 {
			d.printf("  … and %d more lines like these\n", len(lines)-i)
			return
		}
		d.printf("%s\n", line)
	}
}

// verdict prints how an act ended.
func (d *demo) verdict(who int, wc gorxe.WC, text string) {
	line := fmt.Sprintf("  %s %s: %v %v. %s", d.style.green("✓"), device(who), wc.Opcode, wc.Status, text)
	d.printf("%s\n", strings.TrimRight(line, " "))
}

// same reports an error unless got and want are the same bytes.
func same(what string, got, want []byte) error {
	if i := firstDiff(got, want); i >= 0 {
		return fmt.Errorf("demo: %s: byte %d is %#02x, want %#02x: gorxe has a bug", what, i, got[i], want[i])
	}
	return nil
}

func (d *demo) actWrite(ctx context.Context) error {
	d.heading(2, fmt.Sprintf("WRITE: A puts %d bytes into B's memory; no program on B takes part", demoWriteSize))
	a, b := &d.ends[0], &d.ends[1]
	d.fill(a.buf[:demoWriteSize], 1)
	wc, err := d.one(ctx, &gorxe.SendWR{
		Opcode: gorxe.WRWrite, SGList: []gorxe.SGE{a.mr.SGE(0, demoWriteSize)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	})
	if err != nil {
		return err
	}
	d.show(d.wire.take())
	if err := same("B's memory after the WRITE", b.buf[:demoWriteSize], a.buf[:demoWriteSize]); err != nil {
		return err
	}
	d.verdict(0, wc, fmt.Sprintf("All %d bytes in B's memory are right.", demoWriteSize))
	return nil
}

func (d *demo) actRead(ctx context.Context) error {
	d.heading(3, fmt.Sprintf("READ: A fetches %d bytes from B's memory; again B's program sleeps", demoReadSize))
	a, b := &d.ends[0], &d.ends[1]
	d.fill(b.buf[:demoReadSize], 2)
	clear(a.buf)
	wc, err := d.one(ctx, &gorxe.SendWR{
		Opcode: gorxe.WRRead, SGList: []gorxe.SGE{a.mr.SGE(0, demoReadSize)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	})
	if err != nil {
		return err
	}
	d.show(d.wire.take())
	if err := same("A's memory after the READ", a.buf[:demoReadSize], b.buf[:demoReadSize]); err != nil {
		return err
	}
	d.verdict(0, wc, fmt.Sprintf("All %d bytes in A's memory are right.", demoReadSize))
	return nil
}

func (d *demo) actSend(ctx context.Context) error {
	const text = "Hello B, this is A's software RNIC."
	d.heading(4, "SEND: B posts a receive, A sends a message into it")
	a, b := &d.ends[0], &d.ends[1]
	copy(a.buf, text)
	if err := b.qp.PostRecv(&gorxe.RecvWR{SGList: []gorxe.SGE{b.mr.SGE(0, 256)}}); err != nil {
		return err
	}
	sent, err := d.one(ctx, &gorxe.SendWR{Opcode: gorxe.WRSend, SGList: []gorxe.SGE{a.mr.SGE(0, len(text))}})
	if err != nil {
		return err
	}
	received, err := d.completion(ctx, b)
	if err != nil {
		return err
	}
	d.show(d.wire.take())
	got := b.buf[:received.ByteLen]
	if !bytes.Equal(got, []byte(text)) {
		return fmt.Errorf("demo: B received %q, want %q: gorxe has a bug", got, text)
	}
	d.verdict(0, sent, "")
	d.verdict(1, received, fmt.Sprintf("%d bytes: %q", received.ByteLen, got))
	return nil
}

func (d *demo) actLoss(ctx context.Context) error {
	d.heading(5, fmt.Sprintf("Loss: the link now drops %g %% of the packets, both ways; A WRITEs %d KiB %d times", d.params.loss, demoBuffer>>10, demoMessages))
	a, b := &d.ends[0], &d.ends[1]
	d.wire.bad.Store(true)
	before := d.wire.count()
	var wc gorxe.WC
	for i, shown := 1, 0; i <= demoMessages; i++ {
		d.fill(a.buf, uint64(10+i))
		var err error
		wc, err = d.one(ctx, &gorxe.SendWR{
			Opcode: gorxe.WRWrite, SGList: []gorxe.SGE{a.mr.SGE(0, demoBuffer)}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
		})
		var failed *completionError
		if errors.As(err, &failed) && failed.wc.Status == gorxe.WCRetryExcErr {
			return fmt.Errorf("WRITE %d: %v (%s): %g %% is more than %d retries make up for; choose a smaller --loss",
				i, failed.wc.Status, failed.wc.Status.Name(), d.params.loss, gorxe.DefaultConnAttr().RetryCnt)
		}
		if err != nil {
			return err
		}
		events := d.wire.take()
		d.printf("  WRITE %d: %s\n", i, summary(events))
		if eventful(events) && shown < demoDetails {
			shown++
			d.show(events)
		}
		if err := same(fmt.Sprintf("B's memory after WRITE %d", i), b.buf, a.buf); err != nil {
			return err
		}
	}
	after := d.wire.count()
	d.verdict(0, wc, fmt.Sprintf("%d packets lost, %d sent again; every byte is right, each time.",
		after.lost-before.lost, after.again-before.again))
	return nil
}

func eventful(events []demoEvent) bool {
	for i := range events {
		if events[i].lost || events[i].again {
			return true
		}
	}
	return false
}

func (d *demo) farewell() {
	d.printf("\n%s\n", d.style.bold("Try next:"))
	for _, l := range [][2]string{
		{"gorxe devinfo -v -d 127.0.0.1", "what such a device offers"},
		{"gorxe perf write_bw -d 127.0.0.1", "how fast it is: this in one terminal,"},
		{"gorxe perf write_bw -d 127.0.0.2 127.0.0.1", "and this in another"},
		{"gorxe pingpong rc <host>", "against ibv_rc_pingpong on Linux rdma_rxe or an RNIC"},
	} {
		d.printf("  %s %s\n", pad(l[0], 43), l[1])
	}
}
