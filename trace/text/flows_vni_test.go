package text_test

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/text"
)

func TestAFlowInAVirtualNetworkShowsItsVNI(t *testing.T) {
	for _, tt := range []struct {
		flow trace.Flow
		want string
	}{
		{trace.Flow{VNI: 100, HasVNI: true}, "  VNI 100  "}, {trace.Flow{HasVNI: true}, "  VNI 0  "},
		{trace.Flow{}, ""},
	} {
		var b strings.Builder
		w := text.NewFlows(&b, false)
		if err := w.Flow(&tt.flow); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := b.String(); strings.Contains(got, "VNI") != (tt.want != "") || !strings.Contains(got, tt.want) {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}
