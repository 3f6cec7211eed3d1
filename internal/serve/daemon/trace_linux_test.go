package daemon

import (
	"strings"
	"testing"
	"testing/synctest"
)

// A daemon whose trace cannot be written reports it at once, in the log and in its metrics,
// continues to serve, and ends with the error.
func TestAFullDiskIsToldWhenItHappens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start("metrics.listen = \":9481\"\ntrace.file = \"/dev/full\"")
		<-r.told
		synctest.Wait()
		if text := r.scrape(); !strings.Contains(text, "gorxe_trace_errors_total 1\n") ||
			!strings.Contains(text, "gorxe_trace_packets_total 0\n") {
			t.Error(text)
		}
		r.stop()
		if err := <-r.end; err == nil ||
			err.Error() != "trace: write /dev/full: no space left on device: 0 packets are not in it" {
			t.Errorf("Run = %v", err)
		}
		<-r.told
		const line = `level=ERROR msg="packets are no longer recorded" file=/dev/full error="write /dev/full: no space left on device"`
		log := r.log.String()
		if strings.Count(log, line) != 1 || strings.Index(log, line) > strings.Index(log, "msg=stopping") {
			t.Error(log)
		}
	})
}
