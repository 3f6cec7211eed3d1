package xdp

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/host/xsk"
)

func TestXDPIsBestWithoutCopyingAtTheSameMTU(t *testing.T) {
	for _, c := range []struct {
		features xsk.Features
		mtu      int
		want     string // part of the error; "": no error
	}{
		{xsk.Features{}, 1500, "no native XDP support"},
		{xsk.Features{Native: true}, 1500, "does not support zero-copy"},
		{xsk.Features{Native: true, ZeroCopy: true, ZeroCopyBuffers: 1}, 1500, ""},
		{xsk.Features{Native: true, ZeroCopy: true, ZeroCopyBuffers: 1}, 3314, ""},
		{xsk.Features{Native: true, ZeroCopy: true, ZeroCopyBuffers: 1}, 3315,
			"frames of up to 3328 bytes, and the MTU is 3315"},
		{xsk.Features{Native: true, ZeroCopy: true, ZeroCopyBuffers: 8}, 9000, ""},
	} {
		err := missingFeature(c.features, c.mtu)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v, MTU %d: %v, want %q", c.features, c.mtu, err, c.want)
		}
	}
}
