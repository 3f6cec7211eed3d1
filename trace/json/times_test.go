package json_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/json"
)

func TestALatencyThatIsNotKnownIsLeftOut(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, tt := range []struct {
		end  time.Time
		want string
	}{
		{at.Add(5), `"latency_ns":5,`},
		{at, `"latency_ns":0,`},
		{at.Add(-5), ""},
		{time.Time{}, ""},
		{time.Unix(1<<62, 0), ""},
	} {
		var out bytes.Buffer
		if err := json.NewWriter(&out).Message(&trace.Message{Done: true, Begin: at, End: tt.end}); err != nil {
			t.Error(err)
		}
		if line := out.String(); !strings.Contains(line, tt.want) || tt.want == "" &&
			strings.Contains(line, "latency") {
			t.Errorf("until %v: %s", tt.end, line)
		}
	}
}
