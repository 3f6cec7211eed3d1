package sim_test

import (
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/qp"
)

const goodputDoc = "../../docs/goodput.md"

const goodputHead = `# Goodput against loss and window

The throughput of message bytes of one reliable connection in the simulation ` + "`internal/sim`" + `, in Gbit/s. The clock of the
simulation is virtual, so the numbers depend only on the transport: a changed number means changed behaviour.
` + "`go test ./internal/sim -run Goodput`" + ` computes the tables and fails if they differ from this page; ` + "`-update`" + ` writes it.

- Link: 10 Gbit/s of IP, 10 µs each way (20 µs round trip, 25 kB in flight). Each packet is lost with the same
  probability, in both directions.
- Path MTU 1024, messages of 32 KiB, 16 of them outstanding, 16 MiB in all, max_rd_atomic 16.
- Acknowledgement timeout code 10 (4.2 ms), retry count 7. A queue pair sends 0 to 2 µs after it has something to send.
- Each cell is the mean of several runs, in which different packets are lost: 1 run without loss, then 2, 6, 20 and 9 runs
  (at 5 %). The means of the first and the second half of the runs differ, at 1 % loss by up to 3 % for WRITE and SEND and
  by up to 20 % for READ, at 5 % loss by up to 30 %. The reason is the few losses that only a timeout repairs.
- The window is the maximum number of outstanding PSNs, without a limit in bytes; the default of ` + "`transport.Config`" + ` is 128.
`

// mean returns the mean of rates, in Gbit/s.
func mean(rates []float64) (m float64) {
	for _, r := range rates {
		m += 8 * r / float64(len(rates))
	}
	return m
}

// The committed table is the one that the transport produces.
func TestGoodputIsAsTheTableSays(t *testing.T) {
	if race.Enabled || testing.Short() {
		t.Skip("ten million packets: too slow with the race detector or -short")
	}
	// Most allocations are packets, which become garbage at once.
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	losses := []float64{0, 0.0001, 0.001, 0.01, 0.05}
	runs := []int{1, 2, 6, 20, 9}
	windows := []int{16, 64, 128, 512}
	ops := []qp.WROpcode{qp.WRWrite, qp.WRRead, qp.WRSend}
	cells := make([]string, len(ops)*len(losses)*len(windows))
	var wg sync.WaitGroup
	for i, op := range ops {
		for j, loss := range losses {
			for k, window := range windows {
				wg.Go(func() {
					rates, err := sim.Goodput(&sim.Bulk{
						Op: op, MTU: 1024, Message: 32 << 10, Total: 16 << 20, Depth: 16, Window: window,
						Loss: loss, Rate: 1.25, Delay: 10_000, Timeout: 10, Runs: runs[j],
					})
					if err != nil {
						t.Errorf("%v, loss %v, window %d: %v", op, loss, window, err)
						return
					}
					half := (len(rates) + 1) / 2
					t.Logf("%v, loss %v, window %d: %.2f in the first half of %d runs, %.2f in the second", op, loss,
						window, mean(rates[:half]), len(rates), mean(rates[half:]))
					cells[(i*len(losses)+j)*len(windows)+k] = fmt.Sprintf("%.2f", mean(rates))
				})
			}
		}
	}
	wg.Wait()
	var doc strings.Builder
	doc.WriteString(goodputHead)
	for i, op := range ops {
		fmt.Fprintf(&doc, "\n## %v\n\n| loss | window %d | %d | %d | %d |\n|---|---|---|---|---|\n", op, windows[0],
			windows[1], windows[2], windows[3])
		for j, loss := range losses {
			row := cells[(i*len(losses)+j)*len(windows):][:len(windows)]
			fmt.Fprintf(&doc, "| %v %% | %s |\n", loss*100, strings.Join(row, " | "))
		}
	}
	golden.CheckFile(t, goodputDoc, doc.String())
}
