package verbs_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// depth is the number of messages that the bandwidth benchmarks keep outstanding.
const depth = 64

// BenchmarkBandwidth measures what ib_write_bw, ib_read_bw and ib_send_bw do, between two devices
// of one process over UDP sockets: one operation is one message.
func BenchmarkBandwidth(b *testing.B) {
	for _, op := range []verbs.WROpcode{verbs.WRWrite, verbs.WRRead, verbs.WRSend} {
		for _, size := range []int{64, 4096, 65536, 1 << 20} {
			b.Run(fmt.Sprintf("%v/%d", op, size), func(b *testing.B) { bandwidth(b, op, size) })
		}
	}
}

func bandwidth(b *testing.B, op verbs.WROpcode, size int) {
	x, y := verbstest.Connected(b, verbstest.UDPDevices(b), max(size, 4096))
	var wrs [depth]*verbs.SendWR
	var recvs [depth]*verbs.RecvWR
	for i := range depth {
		wrs[i] = x.OneSided(op, y, size)
		recvs[i] = &verbs.RecvWR{SGList: []verbs.SGE{y.MR.SGE(0, size)}}
	}
	post := func(n int) {
		if op == verbs.WRSend {
			if err := y.QP.PostRecv(recvs[:n]...); err != nil {
				b.Fatal(err)
			}
		}
		if err := x.QP.PostSend(wrs[:n]...); err != nil {
			b.Fatal(err)
		}
	}
	var wc, rwc [depth]verbs.WC
	outstanding, posted := 0, 0
	b.SetBytes(int64(size))
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		if n := min(depth-outstanding, b.N-posted); n > 0 {
			post(n)
			outstanding += n
			posted += n
		}
		n, err := x.CQ.Wait(b.Context(), wc[:])
		if err != nil {
			b.Fatal(err)
		}
		for i := range wc[:n] {
			if wc[i].Status != verbs.WCSuccess {
				b.Fatal(wc[i].Status)
			}
		}
		y.CQ.Poll(rwc[:])
		outstanding -= n
		done += n
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	b.ReportMetric(float64(x.QP.Counters().Retransmitted)/float64(b.N), "resent/op")
}

// BenchmarkLatency measures what ib_write_lat does, here with a sleeping receiver: one operation
// is one SEND and one SEND back.
func BenchmarkLatency(b *testing.B) {
	for _, size := range []int{2, 4096} {
		b.Run(fmt.Sprintf("SEND/%d", size), func(b *testing.B) {
			x, y := verbstest.Connected(b, verbstest.UDPDevices(b), 4096)
			echo := make(chan struct{})
			wrs := [2]*verbs.SendWR{x.OneSided(verbs.WRSend, y, size), y.OneSided(verbs.WRSend, x, size)}
			recvs := [2]*verbs.RecvWR{{SGList: wrs[0].SGList}, {SGList: wrs[1].SGList}}
			turn := func(n *verbstest.Node, i int, first bool) {
				var wc [1]verbs.WC
				if err := n.QP.PostRecv(recvs[i]); err != nil {
					b.Error(err)
				}
				if first {
					if err := n.QP.PostSend(wrs[i]); err != nil {
						b.Error(err)
					}
				}
				n.Wait(1, wc[:])
				if !first {
					if err := n.QP.PostSend(wrs[i]); err != nil {
						b.Error(err)
					}
				}
			}
			wrs[0].Flags, wrs[1].Flags = 0, 0
			go func() {
				defer close(echo)
				for range b.N {
					turn(y, 1, false)
				}
			}()
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				turn(x, 0, true)
			}
			b.StopTimer()
			<-echo
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/2*1e6, "us/halfround")
		})
	}
}

// BenchmarkPostOneByOne measures the bandwidth of 64-byte WRITEs posted one at a time: the device
// coalesces what is posted while it sends.
func BenchmarkPostOneByOne(b *testing.B) {
	x, y := verbstest.Connected(b, verbstest.UDPDevices(b), 4096)
	wr := x.OneSided(verbs.WRWrite, y, 64)
	var wc [depth]verbs.WC
	outstanding, posted := 0, 0
	b.ReportAllocs()
	b.ResetTimer()
	for done := 0; done < b.N; {
		for outstanding < 2*depth && posted < b.N {
			if err := x.QP.PostSend(wr); err != nil {
				b.Fatal(err)
			}
			outstanding++
			posted++
		}
		n, err := x.CQ.Wait(b.Context(), wc[:])
		if err != nil {
			b.Fatal(err)
		}
		outstanding -= n
		done += n
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
	c := x.Device.Counters()
	b.ReportMetric(float64(c["tx_packets"])/float64(c["link_tx_calls"]), "packets/call")
}

// BenchmarkManyQPs posts a WRITE of 64 bytes on each of a number of connected queue pairs in
// turn, in memory. B/QP is the memory of each.
func BenchmarkManyQPs(b *testing.B) {
	for _, count := range []int{1, 100, 1000, 10_000} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			cfg := verbstest.PipeLinks(b)
			x, y := verbstest.Open(b, cfg[0], 4096), verbstest.Open(b, cfg[1], 4096)
			before := heap()
			qps := make([]*verbs.QP, count)
			peers := make([]*verbs.QP, count)
			for i := range qps {
				var xi, yi verbs.ConnInfo
				qps[i], xi = x.NewQP()
				peers[i], yi = y.NewQP()
				verbstest.ConnectQPs(b, qps[i], peers[i], xi, yi)
			}
			wr := x.OneSided(verbs.WRWrite, y, 64)
			var wc [depth]verbs.WC
			next, outstanding := 0, 0
			step := func() {
				for ; outstanding < depth; outstanding++ {
					if err := qps[next%count].PostSend(wr); err != nil {
						b.Fatal(err)
					}
					next++
				}
				x.Wait(1, wc[:1])
				outstanding--
			}
			for range 2*count + depth {
				step()
			}
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				step()
			}
			b.StopTimer()
			x.Wait(outstanding, wc[:])
			b.ReportMetric(float64(heap()-before)/float64(2*count), "B/QP")
			runtime.KeepAlive(peers)
		})
	}
}

// BenchmarkIdleQP prints the memory of a connected queue pair that was used once and is idle.
func BenchmarkIdleQP(b *testing.B) {
	for b.Loop() {
		perQP := manyQPs(b, 10_000)
		b.ReportMetric(perQP, "B/QP")
	}
}
