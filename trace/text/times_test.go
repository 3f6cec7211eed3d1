package text_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/text"
)

func TestTimesHaveTheFormatThatIsChosen(t *testing.T) {
	local := time.Local
	time.Local = time.FixedZone("test", 3*3600)
	defer func() { time.Local = local }()
	begin := time.Unix(1700000000, 123456789)
	for _, tt := range []struct {
		format string
		want   []string // of four packets; the last one has no time
	}{
		{"r", []string{"0.000000", "1.500000", "-0.000001", ""}},
		{"a", []string{"01:13:20.123456", "01:13:21.623456", "01:13:20.123455", "-"}},
		{"ad", []string{"2023-11-15 01:13:20.123456", "2023-11-15 01:13:21.623456", "2023-11-15 01:13:20.123455", "-"}},
		{"u", []string{"22:13:20.123456", "22:13:21.623456", "22:13:20.123455", "-"}},
		{"ud", []string{"2023-11-14 22:13:20.123456", "2023-11-14 22:13:21.623456", "2023-11-14 22:13:20.123455", "-"}},
		{"d", []string{"0.000000", "1.500000", "-1.500001", "-"}},
		{"dd", []string{"0.000000", "1.500000", "-1.500001", "-"}},
		{"e", []string{"1700000000.123456", "1700000001.623456", "1700000000.123455", "-"}},
	} {
		times, err := text.ParseTimes(tt.format)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		w := text.NewWriter(&out, text.Options{Times: times})
		for _, at := range []time.Time{begin, begin.Add(1500 * time.Millisecond), begin.Add(-1000), {}} {
			if err := w.Packet(&trace.Packet{Number: 1, Time: at}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
			before, _, _ := strings.Cut(line, "→")
			if got := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(before), "1 ")); tt.want[i] != "" &&
				got != tt.want[i] {
				t.Errorf("%s: time %d is %q in %q, want %q", tt.format, i, got, line, tt.want[i])
			}
		}
	}
	if _, err := text.ParseTimes("adoy"); err == nil || !strings.HasSuffix(err.Error(), "r, a, ad, d, dd, e, u, ud") {
		t.Error(err)
	}
}
