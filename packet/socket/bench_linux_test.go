package socket_test

import (
	"fmt"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/linktest"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/packet/socket"
	"golang.org/x/sys/unix"
)

// BenchmarkUDP alternately sends and receives batches in one goroutine: the cost of a frame at
// both ends.
func BenchmarkUDP(b *testing.B) {
	for _, size := range []int{64, 1024, 4096} {
		for _, o := range offloads {
			b.Run(fmt.Sprintf("lo/%d bytes/%s", size, o.Name), func(b *testing.B) {
				benchTurns(b, listen(b, "127.44.2.1", o.Opts), listen(b, "127.44.2.2", o.Opts), size)
			})
		}
	}
	for _, size := range []int{64, 1024, 4096} {
		for _, o := range offloads {
			b.Run(fmt.Sprintf("veth/%d bytes/%s", size, o.Name), func(b *testing.B) {
				hosts := linktest.NewNet(b, 9000, 0)
				benchTurns(b, listenIn(b, hosts.Left, linktest.LeftIPv4, o.Opts),
					listenIn(b, hosts.Right, linktest.RightIPv4, o.Opts), size)
			})
		}
	}
}

// BenchmarkPipe is BenchmarkUDP in memory.
func BenchmarkPipe(b *testing.B) {
	for _, size := range []int{64, 1024, 4096} {
		b.Run(fmt.Sprintf("%d bytes", size), func(b *testing.B) {
			n := pipe.NewNet()
			benchTurns(b, linktest.OpenPipe(b, n, "192.0.2.1"), linktest.OpenPipe(b, n, "192.0.2.2"), size)
		})
	}
}

// BenchmarkUDPStream sends in one goroutine and receives in another, with a window.
func BenchmarkUDPStream(b *testing.B) {
	for _, size := range []int{1024, 4096} {
		for _, o := range offloads {
			b.Run(fmt.Sprintf("lo/%d bytes/%s", size, o.Name), func(b *testing.B) {
				benchStream(b, listen(b, "127.44.2.3", o.Opts), listen(b, "127.44.2.4", o.Opts), size)
			})
		}
	}
	for _, o := range offloads {
		b.Run(fmt.Sprintf("veth/4096 bytes/%s", o.Name), func(b *testing.B) {
			hosts := linktest.NewNet(b, 9000, 0)
			benchStream(b, listenIn(b, hosts.Left, linktest.LeftIPv4, o.Opts),
				listenIn(b, hosts.Right, linktest.RightIPv4, o.Opts), 4096)
		})
	}
}

// BenchmarkUDPLatency measures half the round-trip time of a small frame.
func BenchmarkUDPLatency(b *testing.B) {
	x, y := listen(b, "127.44.2.5", socket.UDPOptions{}), listen(b, "127.44.2.6", socket.UDPOptions{})
	defer x.Close()
	defer y.Close()
	go func() {
		back := &sender{Link: y, Path: packet.Path{Dst: x.Local()}, Batch: packet.NewBatch(1), Data: make([]byte, 64)}
		rb := packet.NewRecvBatch(8)
		for y.Recv(rb) == nil {
			if back.send(1) != nil {
				return
			}
		}
	}()
	out := &sender{Link: x, Path: packet.Path{Dst: y.Local()}, Batch: packet.NewBatch(1), Data: make([]byte, 64)}
	rb := packet.NewRecvBatch(8)
	b.ReportAllocs()
	for b.Loop() {
		if err := out.send(1); err != nil {
			b.Fatal(err)
		}
		if err := x.Recv(rb); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/2, "ns/half-trip")
}

// sender sends batches of equal frames.
type sender struct {
	Link  packet.Link
	Path  packet.Path
	Batch *packet.Batch
	Data  []byte
}

func (s *sender) send(n int) error {
	for range n {
		f := s.Batch.AppendFrame()
		f.Path = &s.Path
		f.Header = append(f.Header, s.Data[:16]...)
		f.Payload = append(f.Payload, s.Data)
	}
	s.Link.Prepare(s.Batch)
	for i := range s.Batch.Len() {
		f := s.Batch.At(i)
		f.Trailer = append(f.Trailer, 1, 2, 3, 4)
	}
	err := s.Link.Send(s.Batch)
	s.Batch.Reset()
	return err
}

const benchBatch = 32

func benchTurns(b *testing.B, from, to packet.Link, size int) {
	defer from.Close()
	defer to.Close()
	s := &sender{Link: from, Path: packet.Path{Dst: to.Local()}, Batch: packet.NewBatch(benchBatch),
		Data: make([]byte, size)}
	rb := packet.NewRecvBatch(64)
	turn := func() {
		if err := s.send(benchBatch); err != nil {
			b.Fatal(err)
		}
		for n := 0; n < benchBatch; n += len(rb.Frames) {
			if err := to.Recv(rb); err != nil {
				b.Fatal(err)
			}
		}
	}
	for range 20 {
		turn()
	}
	b.SetBytes(int64(benchBatch * size))
	b.ReportAllocs()
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	for b.Loop() {
		turn()
	}
	// On a shared machine processor time is more reliable than elapsed time.
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	cpu := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(cpu)/float64(b.N)/benchBatch, "cpu-ns/frame")
}

func benchStream(b *testing.B, from, to packet.Link, size int) {
	const window = 16 // batches
	defer from.Close()
	defer to.Close()
	s := &sender{Link: from, Path: packet.Path{Dst: to.Local()}, Batch: packet.NewBatch(benchBatch),
		Data: make([]byte, size)}
	credits := make(chan struct{}, window)
	for range window {
		credits <- struct{}{}
	}
	rb := packet.NewRecvBatch(64)
	// Send one frame first: while the neighbour is unknown, the kernel queues about 200 KB and
	// drops the rest.
	if err := s.send(1); err != nil {
		b.Fatal(err)
	}
	if err := to.Recv(rb); err != nil {
		b.Fatal(err)
	}
	go func() {
		for n := 0; to.Recv(rb) == nil; {
			for n += len(rb.Frames); n >= benchBatch; n -= benchBatch {
				credits <- struct{}{}
			}
		}
	}()
	b.SetBytes(int64(benchBatch * size))
	b.ReportAllocs()
	for b.Loop() {
		<-credits
		if err := s.send(benchBatch); err != nil {
			b.Fatal(err)
		}
	}
	for range window {
		<-credits
	}
}

// BenchmarkRaw is BenchmarkUDP over packet sockets, which need a neighbour: veth only.
func BenchmarkRaw(b *testing.B) {
	for _, size := range []int{64, 1024, 4096} {
		for _, o := range []struct {
			Name string
			Opts socket.RawOptions
		}{{"offloads", socket.RawOptions{}}, {"no GSO", socket.RawOptions{NoGSO: true}}} {
			b.Run(fmt.Sprintf("veth/%d bytes/%s", size, o.Name), func(b *testing.B) {
				hosts := linktest.NewNet(b, 9000, 0)
				benchTurns(b, listenRawIn(b, hosts.Left, linktest.LeftIPv4, o.Opts),
					listenRawIn(b, hosts.Right, linktest.RightIPv4, o.Opts), size)
			})
		}
	}
}
