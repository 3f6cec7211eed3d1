package hostile

import (
	"context"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/internal/exchange/perftest"
)

// exchanges are with the responder to perftest and the pingpongs, over TCP.
var exchanges = []Pattern{
	{Name: "tcp-connect", Does: "connections that are closed at once", By: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
		return f.call(ctx, nil)
	}},
	{Name: "tcp-version", Does: "connections that are closed after perftest's version", By: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
		return f.call(ctx, perftest.AppendVersion(nil, perftest.Announced))
	}},
	{Name: "tcp-garbage", Does: "connections with bytes of no tool", By: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
		return f.call(ctx, filler[:64])
	}},
	{Name: "tcp-items", Does: "a version and then lines without end", By: Stranger, Call: func(ctx context.Context, f *Flood, _ uint64) error {
		return f.call(ctx, append(perftest.AppendVersion(nil, perftest.Announced), make([]byte, 16<<10)...))
	}},
	{Name: "tcp-slow", Does: "connections that say nothing and stay, up to 512", By: Stranger, Call: slow(nil)},
	{Name: "tcp-slow-version", Does: "connections that stay after the version, up to 512", By: Stranger, Call: slow(perftest.AppendVersion(nil, perftest.Announced))},
}

const callTime = time.Second

func (f *Flood) dial(ctx context.Context) (net.Conn, error) {
	d := net.Dialer{Timeout: callTime, LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(f.Flooder[FromSelf], 0))}
	return d.DialContext(ctx, "tcp", netip.AddrPortFrom(f.Addr, f.ToolsTCP).String())
}

// call connects, says something and closes with a reset, which leaves nothing in TIME-WAIT.
func (f *Flood) call(ctx context.Context, say []byte) error {
	c, err := f.dial(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	if t, ok := c.(*net.TCPConn); ok {
		// The error is of a connection that is gone already.
		_ = t.SetLinger(0)
	}
	if len(say) == 0 {
		return nil
	}
	c.SetDeadline(time.Now().Add(callTime))
	_, err = c.Write(say)
	return err
}

// slow keeps connections open: the first 512 calls make one each, later ones replace those that the victim closed.
func slow(say []byte) func(context.Context, *Flood, uint64) error {
	var mu sync.Mutex
	open := 0
	return func(ctx context.Context, f *Flood, _ uint64) error {
		mu.Lock()
		full := open >= 512
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
			if _, err := c.Write(say); err == nil {
				// Until the victim has had enough.
				_, _ = io.Copy(io.Discard, c)
			}
		}()
		return nil
	}
}
