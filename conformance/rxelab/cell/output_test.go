package cell

import (
	"fmt"
	"strings"
	"testing"
)

const pingpongOutput = `  local address:  LID 0x0000, QPN 0x000012, PSN 0x28caf4, GID ::ffff:198.18.0.1
  remote address: LID 0x0000, QPN 0x000011, PSN 0xdc44d1, GID ::ffff:198.18.0.2
81920 bytes in 0.00 seconds = 484.38 Mbit/sec
10 iters in 0.00 seconds = 135.30 usec/iter
`

const bandwidthOutput = `---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Number of qps   : 4		Transport type : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      20               89.18              73.17  		   0.001171
---------------------------------------------------------------------------------------
`

// The clock of an emulated machine may not advance between two readings.
const latencyOutput = `---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 65536   5          inf            inf          inf      	       inf         	-nan   		inf     		inf    
---------------------------------------------------------------------------------------
`

func allRows(last int) string {
	var b strings.Builder
	b.WriteString(" #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n")
	for _, s := range (Params{All: true}).Sizes() {
		if s <= last {
			fmt.Fprintf(&b, " %-10d 5  0.02  0.01  0.005873\n", s)
		}
	}
	return b.String() + "---------\n"
}

const lastRow = ` #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 8388608    5              15.88              15.88                0.000002
`

func TestCheckOutput(t *testing.T) {
	pingpong, bw, lat := &Core.Tools()[0], &Core.Tools()[1], &Core.Tools()[4]
	operated := Tool{Kind: Operation}
	for _, c := range []struct {
		name     string
		tool     *Tool
		params   Params
		out      string
		measures bool
		want     string // in the error; empty: none
	}{
		{"pingpong complete", pingpong, Params{Size: 4096, Iters: 10}, pingpongOutput, true, ""},
		{"pingpong of another size", pingpong, Params{Size: 1, Iters: 10}, pingpongOutput, true,
			"reports 81920 bytes, want 20"},
		{"pingpong of fewer iterations", pingpong, Params{Size: 2048, Iters: 20}, pingpongOutput, true,
			"reports 10 iterations"},
		{"pingpong silent", pingpong, Params{Size: 1, Iters: 10}, "", true, "no line with the bytes"},
		{"iterations of all queue pairs", bw, Params{Size: 65536, QPs: 4, Iters: 5}, bandwidthOutput, true, ""},
		{"iterations missing", bw, Params{Size: 65536, Iters: 5}, bandwidthOutput, true, "reports 20 iterations"},
		{"another size", bw, Params{Size: 2, Iters: 20}, bandwidthOutput, true, "sizes [65536], want [2]"},
		{"no table from the client", bw, Params{Size: 2, Iters: 20}, "", true, "sizes [], want [2]"},
		{"no table from the server", bw, Params{Size: 2, Iters: 20}, "", false, ""},
		{"times that are no numbers", lat, Params{Size: 65536, Iters: 5}, latencyOutput, true, ""},
		{"all sizes", bw, Params{All: true, Iters: 5}, allRows(1 << 23), true, ""},
		{"all sizes but the last", bw, Params{All: true, Iters: 5}, allRows(1 << 22), true, "want [2 4"},
		{"a server shows the last size only", bw, Params{All: true, Iters: 5}, lastRow, false, ""},
		{"a client shows the last size only", bw, Params{All: true, Iters: 5}, lastRow, true,
			"sizes [8388608], want [2"},
		{"a negative rate", bw, Params{Size: 65536, Iters: 20}, strings.Replace(bandwidthOutput, "73.17", "-73.17", 1),
			true, "-73.17"},
		{"an operation", &operated, Params{Size: 4000, Iters: 20},
			"flush: 20 rounds of 4000 bytes as they should be\n", true, ""},
		{"an operation that ended early", &operated, Params{Size: 4000, Iters: 20},
			"flush: 2 rounds of 4000 bytes as they should be\n", true, "reports 2 rounds"},
		{"an operation that failed", &operated, Params{Size: 4000, Iters: 20}, "flush: status 10\n", true,
			"does not say"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cell := Cell{Workload: Workload{c.tool, c.params}}
			err := cell.CheckOutput(c.out, c.measures)
			switch {
			case c.want == "" && err != nil:
				t.Error(err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
