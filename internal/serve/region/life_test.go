package region

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/verbs"
)

// has describes the objects of the server's device, without goroutines.
func (w *world) has() string {
	var qps, mrs, cqs, cms int
	for range w.dev.QPs() {
		qps++
	}
	for range w.dev.MRs() {
		mrs++
	}
	for range w.dev.CQs() {
		cqs++
	}
	for range w.dev.CMs() {
		cms++
	}
	return fmt.Sprintf("%d queue pairs, %d regions, %d CQs, %d connections", qps, mrs, cqs, cms)
}

// mortal returns a device that can be killed without notice.
func (w *world) mortal(addr string) (d *verbs.Device, kill func()) {
	w.Helper()
	var link packet.Link
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{w.link(addr)}, Wrap: func(l packet.Link) packet.Link {
		link = l
		return l
	}})
	if err != nil {
		w.Fatal(err)
	}
	return d, func() {
		if err := errors.Join(link.Close(), d.Close()); err != nil {
			w.Error(err)
		}
	}
}

func TestOfAThousandClientsThatDieNothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const rounds, each = 20, 50
		w := newWorld(t, Options{}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: allAccess})
		round := func(i int) {
			d, kill := w.mortal("192.0.2.2")
			for n := range each {
				var c *Conn
				var err error
				if n%10 == 0 {
					c, err = dial(t.Context(), d, w.at, "") // the directory
				} else {
					c, err = Dial(t.Context(), d, w.at, "m")
				}
				if err != nil {
					t.Fatal(i, n, err)
				}
				if n%3 == 0 {
					if err := c.Read(t.Context(), io.Discard, 0, 8); err != nil {
						t.Fatal(err)
					}
				}
			}
			kill()
			// Twice the interval of checks, the retries of a packet, and those of a DREQ.
			time.Sleep(time.Minute)
		}
		round(0)
		synctest.Wait()
		// Ended connections remain in TIMEWAIT in the manager.
		time.Sleep(10 * time.Minute)
		before, goroutines := w.has(), runtime.NumGoroutine()
		for i := 1; i < rounds; i++ {
			round(i)
		}
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if got, g := w.has(), runtime.NumGoroutine(); got != before || g != goroutines {
			t.Errorf("%s and %d goroutines, before %s and %d", got, g, before, goroutines)
		}
		w.server.mu.Lock()
		if n, hosts := w.server.clients.Taken(); n != 0 || hosts != 0 || w.server.regions["m"].conns != 0 {
			t.Errorf("%d connections of %d hosts are counted", n, hosts)
		}
		w.server.mu.Unlock()
		if c := w.server.Counts(); c.Accepted != rounds*each || c.Lost != rounds*each {
			t.Errorf("%+v", c)
		}
	})
}

// A client killed between the REP and its RTU occupies its place for a limited time.
func TestAClientThatDoesNotGoOnIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MaxConns: 1}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
		link := w.link("192.0.2.2")
		deaf, err := verbs.Open(verbs.Config{Links: []packet.Link{hearsNothing{link}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if _, err := Dial(ctx, deaf, w.at, "m"); err == nil {
				t.Error("it has an answer")
			}
		}()
		synctest.Wait()
		if err := link.Close(); err != nil {
			t.Error(err)
		}
		cancel()
		<-ended
		if err := deaf.Close(); err != nil {
			t.Error(err)
		}
		busy := w.client("192.0.2.3")
		began := time.Now()
		w.dial(busy, "m") // is not answered before, and repeats its request
		if waited := time.Since(began); waited < quota.Grace {
			t.Errorf("it has the place after %v", waited)
		}
		time.Sleep(time.Minute)
		if c := w.server.Counts(); c.Unanswered != 1 {
			t.Errorf("%+v", c)
		}
	})
}

// hearsNothing is a link that loses all incoming packets.
type hearsNothing struct{ packet.Link }

func (l hearsNothing) Recv(b *packet.RecvBatch) error {
	for {
		if err := l.Link.Recv(b); err != nil {
			return err
		}
	}
}

func TestAServerThatClosesEndsItsConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
		d := w.client("192.0.2.2")
		c := w.dial(d, "m")
		began := time.Now()
		if err := w.server.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v though the client answers", took)
		}
		if err := c.Read(t.Context(), io.Discard, 0, 8); !errors.Is(err, ErrEnded) {
			t.Errorf("read: %v", err)
		}
		if _, err := Dial(t.Context(), d, w.at, "m"); !errors.Is(err, ErrNoRegion) {
			t.Errorf("dial: %v", err)
		}
		if err := w.server.Export(Export{Name: "n", Kind: "k", Memory: mr.Bytes(make([]byte, 8)),
			Access: Read}); !errors.Is(err, verbs.ErrClosed) {
			t.Errorf("export: %v", err)
		}
	})
}

// Close waits for clients that do not answer only as long as permitted.
func TestClosingIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
		d, kill := w.mortal("192.0.2.2")
		w.dial(d, "m")
		kill()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		if err := w.server.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// mutedByReply is a link that loses outgoing packets from the first incoming frame until speak.
type mutedByReply struct {
	packet.Link
	muted, spoke atomic.Bool
}

func (l *mutedByReply) Recv(b *packet.RecvBatch) error {
	err := l.Link.Recv(b)
	l.muted.Store(!l.spoke.Load())
	return err
}

func (l *mutedByReply) Send(b *packet.Batch) error {
	if l.muted.Load() {
		b.Sent = b.Len()
		return nil
	}
	return l.Link.Send(b)
}

func (l *mutedByReply) speak() {
	l.spoke.Store(true)
	l.muted.Store(false)
}

// The client has the REP, but the server does not have the RTU yet.
func TestAClientHearsOfTheEndOfWhatHasJustBegun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
		link := &mutedByReply{Link: w.link("192.0.2.2")}
		d, err := verbs.Open(verbs.Config{Links: []packet.Link{link}})
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		c := w.dial(d, "m")
		synctest.Wait()
		if err := w.server.Unexport("m"); err != nil {
			t.Fatal(err)
		}
		link.speak()
		time.Sleep(20 * time.Second)
		select {
		case <-c.Done():
		default:
			t.Fatal("the client thinks that it is connected")
		}
		if err := c.conn.Err(); !errors.Is(err, verbs.ErrDisconnected) {
			t.Errorf("it ended with %v", err)
		}
		if got := w.server.Counts(); got.Accepted != 1 || got.Unanswered != 0 {
			t.Errorf("%+v", got)
		}
	})
}
