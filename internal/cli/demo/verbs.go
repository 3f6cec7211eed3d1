package demo

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/gorxe/gorxe/internal/cli/session"
	"github.com/gorxe/gorxe/verbs"
)

func (d *demo) actWrite(ctx context.Context) error {
	d.heading(fmt.Sprintf("WRITE: A puts %d bytes into B's memory, without B's program", demoWriteSize))
	a, b := &d.ends[0], &d.ends[1]
	d.fill(a.buf[:demoWriteSize], 1)
	return d.move(ctx, verbs.WRWrite, "the WRITE", "B", b.buf[:demoWriteSize], a.buf[:demoWriteSize])
}

func (d *demo) actRead(ctx context.Context) error {
	d.heading(fmt.Sprintf("READ: A fetches %d bytes from B's memory; again B's program sleeps", demoReadSize))
	a, b := &d.ends[0], &d.ends[1]
	d.fill(b.buf[:demoReadSize], 2)
	clear(a.buf)
	return d.move(ctx, verbs.WRRead, "the READ", "A", a.buf[:demoReadSize], b.buf[:demoReadSize])
}

// move does a WRITE or READ (op) of len(want) bytes between the starts of both ends' memory. It
// then compares got, the bytes in the memory of device whose, with want.
func (d *demo) move(ctx context.Context, op verbs.WROpcode, what, whose string, got, want []byte) error {
	a, b := &d.ends[0], &d.ends[1]
	wc, err := d.one(ctx, &verbs.SendWR{
		Opcode: op, SGList: []verbs.SGE{a.mr.SGE(0, len(want))}, RemoteAddr: b.mr.Addr(), RKey: b.mr.RKey(),
	})
	if err != nil {
		return err
	}
	d.show(d.wire.take())
	if err := same(whose+"'s memory after "+what, got, want); err != nil {
		return err
	}
	d.verdict(0, wc, fmt.Sprintf("All %d bytes in %s's memory are right.", len(want), whose))
	return nil
}

func (d *demo) actAtomic(ctx context.Context) error {
	const was, added, swapped = 40, 2, 7
	d.heading("Atomics: A adds to a counter in B's memory, then exchanges it; each gives A what was there")
	a, b := &d.ends[0], &d.ends[1]
	counter, old := b.buf[:8], a.buf[:8]
	binary.NativeEndian.PutUint64(counter, was)
	for _, step := range []struct {
		wr          verbs.SendWR
		before, now uint64
		text        string
	}{
		{verbs.SendWR{Opcode: verbs.WRFetchAdd, CompareAdd: added}, was, was + added, "%d was there, %d is now."},
		{verbs.SendWR{Opcode: verbs.WRCmpSwap, CompareAdd: was + added, Swap: swapped}, was + added, swapped,
			"%d was there, as expected, and %d is now."},
	} {
		step.wr.SGList, step.wr.RemoteAddr, step.wr.RKey = []verbs.SGE{a.mr.SGE(0, 8)}, b.mr.Addr(), b.mr.RKey()
		wc, err := d.one(ctx, &step.wr)
		if err != nil {
			return err
		}
		d.show(d.wire.take())
		before, now := binary.NativeEndian.Uint64(old), binary.NativeEndian.Uint64(counter)
		if before != step.before || now != step.now {
			return fmt.Errorf("demo: %v: %d was there and %d is, want %d and %d: gorxe has a bug", step.wr.Opcode,
				before, now, step.before, step.now)
		}
		d.verdict(0, wc, fmt.Sprintf(step.text, before, now))
	}
	return nil
}

func (d *demo) actSend(ctx context.Context) error {
	const text = "Hello B, this is A's software RNIC."
	d.heading("SEND: B posts a receive, A sends a message into it")
	a, b := &d.ends[0], &d.ends[1]
	copy(a.buf, text)
	if err := b.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{b.mr.SGE(0, 256)}}); err != nil {
		return err
	}
	sent, err := d.one(ctx, &verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{a.mr.SGE(0, len(text))}})
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

// actRNR sends before the peer has posted a receive. B posts it after its RNR NAK.
func (d *demo) actRNR(ctx context.Context) error {
	const text = "Are you there?"
	d.heading("RNR: A sends a message before B has posted a receive for it")
	a, b := &d.ends[0], &d.ends[1]
	copy(a.buf, text)
	refused := d.wire.refusal()
	if err := d.post(&verbs.SendWR{Opcode: verbs.WRSend, SGList: []verbs.SGE{a.mr.SGE(0, len(text))}}); err != nil {
		return err
	}
	select {
	case <-refused:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := b.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{b.mr.SGE(0, 256)}}); err != nil {
		return err
	}
	sent, err := d.completion(ctx, a)
	if err != nil {
		return err
	}
	received, err := d.completion(ctx, b)
	if err != nil {
		return err
	}
	d.show(d.wire.take())
	if got := string(b.buf[:received.ByteLen]); got != text {
		return fmt.Errorf("demo: B received %q, want %q: gorxe has a bug", got, text)
	}
	d.verdict(0, sent, "")
	d.verdict(1, received, "B posted its receive while A waited.")
	return nil
}

func (d *demo) actLoss(ctx context.Context) error {
	d.heading(fmt.Sprintf("Loss: the link now drops %g %% of the packets, both ways; A WRITEs %d KiB %d times",
		d.params.loss, demoBuffer>>10, demoMessages))
	a, b := &d.ends[0], &d.ends[1]
	d.wire.bad.Store(true)
	before := d.wire.count()
	var wc verbs.WC
	for i, shown := 1, 0; i <= demoMessages; i++ {
		d.fill(a.buf, uint64(10+i))
		var err error
		wc, err = d.one(ctx, &verbs.SendWR{
			Opcode: verbs.WRWrite, SGList: []verbs.SGE{a.mr.SGE(0, demoBuffer)}, RemoteAddr: b.mr.Addr(),
			RKey: b.mr.RKey(),
		})
		var failed *session.CompletionError
		if errors.As(err, &failed) && failed.WC.Status == verbs.WCRetryExcErr {
			return fmt.Errorf("WRITE %d: %v (%s): %g %% is more than %d retries make up for; choose a smaller --loss",
				i, failed.WC.Status, failed.WC.Status.Name(), d.params.loss, verbs.DefaultConnAttr().RetryCnt)
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

// eventful reports whether a packet was lost or retransmitted.
func eventful(events []event) bool {
	for i := range events {
		if events[i].lost || events[i].again {
			return true
		}
	}
	return false
}
