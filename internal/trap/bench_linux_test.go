//go:build linux && (amd64 || arm64)

package trap

import (
	"fmt"
	"strconv"
	"testing"
)

// BenchmarkCall measures system calls of a program under the filter; getppid is not trapped.
func BenchmarkCall(b *testing.B) {
	for _, kind := range []string{"ioctl", "ioctl+write", "write", "stat host", "stat own", "stat absent", "getppid"} {
		b.Run(kind, func(b *testing.B) {
			r := startProgram(b, "measure", kind, strconv.Itoa(b.N))
			var least, median float64
			if _, err := fmt.Sscan(r.mustSucceed(), &least, &median); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(least, "ns-min")
			b.ReportMetric(median, "ns-median")
		})
	}
}

// BenchmarkStart measures the life of /bin/true under the filter.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		start(b, Command{Path: "/bin/true"}).mustSucceed()
	}
}
