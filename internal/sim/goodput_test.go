package sim_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/sim"
	"github.com/gorxe/gorxe/qp"
)

var update = flag.Bool("update", false, "write docs/goodput.md")

const goodputDoc = "../../docs/goodput.md"

const goodputHead = `# Goodput against loss and window

What one reliable connection carries in the simulated world of ` + "`internal/sim`" + `, in Gbit/s of message bytes. The clock is
virtual, so the numbers depend on nothing but the transport: a line that changes is a change of behaviour.
` + "`go test ./internal/sim -run Goodput`" + ` computes the tables and fails when they differ from these; ` + "`-update`" + ` writes them.

- Link: 10 Gbit/s of IP, 10 µs each way (20 µs round trip, 25 kB in flight), every packet lost alike in both directions.
- Path MTU 1024, messages of 32 KiB, 16 of them outstanding, 16 MiB in all, max_rd_atomic 16.
- Timeout code 10 (4.2 ms), retry count 7. A queue pair gets its turn to send 0 to 2 µs after it has something to say.
- Window in PSNs, without a limit in bytes; the default of ` + "`transport.Config`" + ` is 128.
`

// The table that is committed is the one that the transport gives.
func TestGoodputIsAsTheTableSays(t *testing.T) {
	if raceEnabled || testing.Short() {
		t.Skip("two million packets: too slow with the race detector or -short")
	}
	losses := []float64{0, 0.0001, 0.001, 0.01, 0.05}
	windows := []int{16, 64, 128, 512}
	ops := []qp.WROpcode{qp.WRWrite, qp.WRRead, qp.WRSend}
	cells := make([]string, len(ops)*len(losses)*len(windows))
	var wg sync.WaitGroup
	for i, op := range ops {
		wg.Go(func() {
			for j, loss := range losses {
				for k, window := range windows {
					rate, err := sim.Goodput(&sim.Bulk{
						Op: op, MTU: 1024, Message: 32 << 10, Total: 16 << 20, Depth: 16, Window: window,
						Loss: loss, Rate: 1.25, Delay: 10_000, Timeout: 10,
					})
					if err != nil {
						t.Errorf("%v, loss %v, window %d: %v", op, loss, window, err)
					}
					cells[(i*len(losses)+j)*len(windows)+k] = fmt.Sprintf("%.2f", 8*rate)
				}
			}
		})
	}
	wg.Wait()
	var doc strings.Builder
	doc.WriteString(goodputHead)
	for i, op := range ops {
		fmt.Fprintf(&doc, "\n## %v\n\n| loss | window %d | %d | %d | %d |\n|---|---|---|---|---|\n", op, windows[0], windows[1], windows[2], windows[3])
		for j, loss := range losses {
			row := cells[(i*len(losses)+j)*len(windows):][:len(windows)]
			fmt.Fprintf(&doc, "| %v %% | %s |\n", loss*100, strings.Join(row, " | "))
		}
	}
	if *update {
		if err := os.WriteFile(goodputDoc, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(goodputDoc)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), doc.String()); diff != "" {
		t.Errorf("docs/goodput.md differs; if that is meant, run: go test ./internal/sim -run Goodput -update\n%s", diff)
	}
}
