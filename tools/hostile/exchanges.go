package hostile

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/qp"
)

// exchanges attack the responder to perftest and the pingpong tools, over TCP.
var exchanges = []Pattern{
	{Name: "tcp-connect", Description: "connections that are closed at once",
		Actor: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
			return f.call(ctx, nil)
		}},
	{Name: "tcp-version", Description: "connections that are closed after perftest's version",
		Actor: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
			return f.call(ctx, perftest.AppendVersion(nil, perftest.Announced))
		}},
	{Name: "tcp-garbage", Description: "connections with bytes of no tool",
		Actor: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
			return f.call(ctx, filler[:64])
		}},
	{Name: "tcp-items", Description: "a version and then lines without end",
		Actor: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
			return f.call(ctx, append(perftest.AppendVersion(nil, perftest.Announced), make([]byte, 16<<10)...))
		}},
	{Name: "tcp-slow", Description: "connections that say nothing and stay, up to 512", Actor: Stranger,
		Call: slow(nil)},
	{Name: "tcp-slow-version", Description: "connections that stay after the version, up to 512",
		Actor: Stranger, Call: slow(perftest.AppendVersion(nil, perftest.Announced))},
	{Name: "tcp-keys", Description: "16 connections that send perftest's key again and again, as fast as it is taken",
		Actor: Stranger, Call: repeatKeys()},
}

// reflections use queue pairs that the responder to perftest has connected to a host that the
// flooder named.
var reflections = []Pattern{
	{Name: "reflected-reads", Description: "READs of 64 KiB under the address of a third host that perftest's exchange named, which gets the answers",
		Actor:   Forger,
		Session: true, Names: FromThird, Make: reflectedRead},
	{Name: "session-reads", Description: "the same under the flooder's own address",
		Actor: Peer, Session: true, Make: func(f *Flood, i uint64) Datagram {
			d := reflectedRead(f, i)
			d.From = FromSelf
			return d
		}},
}

// reflectedRead returns one of eight READs, cyclically.
func reflectedRead(f *Flood, i uint64) Datagram {
	const n = 64 << 10
	o := &f.Own[0]
	d := f.sealed(f.request(o, bth.RCReadRequest, o.PSN.Add(uint32(i%8)*(n/MTU)), n))
	d.From = FromThird
	return d
}

// opening returns the messages of a perftest client before its keys.
func opening() [][]byte {
	return [][]byte{
		perftest.AppendVersion(nil, perftest.Announced), perftest.AppendWord(nil, 4096), perftest.AppendWord(nil, 64),
		perftest.AppendMTU(nil, 5),
	}
}

// session gets the first of the flooder's queue pairs from the responder to perftest. hangUp ends
// the session.
func (f *Flood) session(ctx context.Context, names Source) (hangUp func(), err error) {
	c, err := f.dial(ctx)
	if err != nil {
		return nil, err
	}
	c.SetDeadline(time.Now().Add(callTime))
	mine := perftest.Key{OutReads: 16, QPN: floodQPN, PSN: floodPSN, GID: qp.GIDFromAddr(f.Flooder[names])}
	answer := make([]byte, perftest.KeyLen)
	for _, item := range append(opening(), mine.Append(nil)) {
		if _, err = c.Write(item); err == nil {
			_, err = io.ReadFull(c, answer[:len(item)])
		}
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	var its perftest.Key
	if err := its.Decode(answer); err != nil {
		c.Close()
		return nil, err
	}
	f.Own[0] = Owned{
		QPN: bth.QPN(its.QPN), PeerQPN: floodQPN, PSN: floodPSN, Sends: bth.PSN(its.PSN), VA: its.VAddr, RKey: its.RKey,
		BigVA: its.VAddr, BigRKey: its.RKey,
	}
	return func() { c.Close() }, nil
}

const callTime = time.Second

func (f *Flood) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: callTime, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.Flooder[FromSelf], 0))}
	return d.DialContext(ctx, "tcp", netip.AddrPortFrom(f.Addr, f.ToolsTCP).String())
}

// call connects, sends say and closes with a reset, which leaves no connection in TIME-WAIT.
func (f *Flood) call(ctx context.Context, say []byte) error {
	c, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if t, ok := c.(*net.TCPConn); ok {
		// An error means that the connection is already closed.
		_ = t.SetLinger(0)
	}
	if len(say) == 0 {
		return nil
	}
	c.SetDeadline(time.Now().Add(callTime))
	_, err = c.Write(say)
	return err
}

// slow keeps connections open that send say and then nothing.
func slow(say []byte) func(context.Context, *Flood, uint64) error {
	return keepOpen(512, func(_ *Flood, c net.Conn) {
		if _, err := c.Write(say); err == nil {
			// Wait until the victim closes the connection.
			_, _ = io.Copy(io.Discard, c)
		}
	})
}

// repeatKeys keeps the maximum number of connections of one address open. Each repeats a key
// until the victim closes it.
func repeatKeys() func(context.Context, *Flood, uint64) error {
	return keepOpen(16, func(f *Flood, c net.Conn) {
		for _, item := range opening() {
			if _, err := c.Write(item); err != nil {
				return
			}
			if _, err := io.ReadFull(c, make([]byte, len(item))); err != nil {
				return
			}
		}
		mine := perftest.Key{OutReads: 1, QPN: floodQPN, PSN: floodPSN, GID: qp.GIDFromAddr(f.Flooder[FromSelf])}
		keys := bytes.Repeat(mine.Append(nil), 300)
		go io.Copy(io.Discard, c)
		for {
			if _, err := c.Write(keys); err != nil {
				return
			}
		}
	})
}

// keepOpen keeps up to n connections open and calls do with each. Calls beyond n only replace
// connections that have ended.
func keepOpen(n int, do func(*Flood, net.Conn)) func(context.Context, *Flood, uint64) error {
	var mu sync.Mutex
	open := 0
	return func(ctx context.Context, f *Flood, _ uint64) error {
		mu.Lock()
		full := open >= n
		if !full {
			open++
		}
		mu.Unlock()
		if full {
			time.Sleep(time.Millisecond)
			return nil
		}
		left := func() { mu.Lock(); open--; mu.Unlock() }
		c, err := f.dial(ctx)
		if err != nil {
			left()
			return err
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		go func() {
			defer left()
			defer stop()
			defer c.Close()
			do(f, c)
		}()
		return nil
	}
}
