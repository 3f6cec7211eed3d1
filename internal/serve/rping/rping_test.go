package rping_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/gorxe/gorxe/internal/serve/rping"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// devices returns two devices on a network in memory with faults.
func devices(t *testing.T, f fault.Config) (client, server *verbs.Device, at netip.AddrPort) {
	t.Helper()
	n := pipe.NewNet()
	var out [2]*verbs.Device
	for i, a := range []string{"192.0.2.1", "192.0.2.2"} {
		l, err := n.Open(netip.MustParseAddr(a), 1500)
		if err != nil {
			t.Fatal(err)
		}
		f.Seed++
		d, err := verbs.Open(verbs.Config{Links: []packet.Link{fault.New(l, f)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		})
		out[i] = d
	}
	return out[0], out[1], netip.AddrPortFrom(netip.MustParseAddr("192.0.2.2"), rping.Port)
}

// serve makes s answer the first client, and returns the result.
func serve(t *testing.T, d *verbs.Device, s *rping.Server) <-chan error {
	t.Helper()
	l, err := d.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, rping.Port), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s.PD = d.AllocPD()
	out := make(chan error, 1)
	go func() {
		r, err := l.Next(t.Context())
		if err == nil {
			err = s.Serve(t.Context(), r)
		}
		out <- err
	}()
	return out
}

func TestPingsComeBackWhole(t *testing.T) {
	for _, size := range []int{rping.MinSize, 64, 4000, rping.MaxSize} {
		for name, f := range map[string]fault.Config{
			"clean": {}, "loss": {Seed: 7, Drop: 0.02}, "disorder": {Seed: 7, Reorder: 0.1, Duplicate: 0.1},
		} {
			t.Run(fmt.Sprint(size, " ", name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					client, server, at := devices(t, f)
					var heard, said []string
					ended := serve(t, server, &rping.Server{Ping: func(b []byte) { heard = append(heard, string(b)) }})
					c := rping.Client{PD: client.AllocPD(), Size: size, Count: 60, Validate: true,
						Ping: func(b []byte) { said = append(said, string(b)) }}
					if err := c.Run(t.Context(), at); err != nil {
						t.Fatal(err)
					}
					if err := <-ended; err != nil {
						t.Error(err)
					}
					if len(said) != 60 || strings.Join(said, "\n") != strings.Join(heard, "\n") {
						t.Errorf("the client says %d pings, the server heard %d", len(said), len(heard))
					}
					if want := "rdma-ping-59: "; !strings.HasPrefix(said[59], want) || len(said[59]) != size-1 {
						t.Errorf("the last ping is %q", said[59])
					}
				})
			})
		}
	}
}

// The text of rping, as printed by the original.
func TestThePatternIsThatOfRping(t *testing.T) {
	client, server, at := devices(t, fault.Config{})
	var got bytes.Buffer
	ended := serve(t, server, &rping.Server{Ping: func(b []byte) { fmt.Fprintf(&got, "%s\n", b) }})
	c := rping.Client{PD: client.AllocPD(), Count: 2}
	if err := c.Run(t.Context(), at); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	want := "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\n" +
		"rdma-ping-1: BCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrs\n"
	if got.String() != want {
		t.Errorf("pings:\n%s", &got)
	}
}

func TestASmallerServerSaysWhatIsWrong(t *testing.T) {
	client, server, at := devices(t, fault.Config{})
	ended := serve(t, server, &rping.Server{Size: 64})
	c := rping.Client{PD: client.AllocPD(), Size: 65, Count: 1}
	if err := c.Run(t.Context(), at); !errors.Is(err, rping.ErrLeft) {
		t.Errorf("the client: %v", err)
	}
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "-S 65") {
		t.Errorf("the server: %v", err)
	}
}

func TestAClientThatStopsIsNoErrorBetweenPings(t *testing.T) {
	client, server, at := devices(t, fault.Config{})
	ended := serve(t, server, &rping.Server{})
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	c := rping.Client{PD: client.AllocPD(), Ping: func([]byte) {
		if n++; n == 10 {
			cancel()
		}
	}}
	if err := c.Run(ctx, at); !errors.Is(err, context.Canceled) {
		t.Errorf("the client: %v", err)
	}
	// The server may be in the middle of the next ping.
	if err := <-ended; err != nil && !strings.Contains(err.Error(), "disconnected during a ping") {
		t.Errorf("the server: %v", err)
	}
}

func TestSizesThatRpingDoesNotHave(t *testing.T) {
	client, _, at := devices(t, fault.Config{})
	for _, size := range []int{rping.MinSize - 1, rping.MaxSize + 1} {
		c := rping.Client{PD: client.AllocPD(), Size: size, Count: 1}
		if err := c.Run(t.Context(), at); err == nil || !strings.Contains(err.Error(), "23 to 65535") {
			t.Errorf("size %d: %v", size, err)
		}
	}
}
