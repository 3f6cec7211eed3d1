package rings_test

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

func TestGeometryRoundsUp(t *testing.T) {
	for _, c := range []struct {
		depth, elem, page    int
		slots, elemOut, size int
	}{
		{0, 1, 4096, 1, 1, 4096},
		{1, 64, 4096, 2, 64, 4096},
		{2, 64, 4096, 4, 64, 4096},
		{3, 65, 4096, 4, 128, 4096},
		{4, 208, 4096, 8, 256, 4096},
		{15, 232, 4096, 16, 256, 8192},
		{16, 256, 4096, 32, 256, 12288},
		{57, 64, 4096, 64, 64, 8192},
		{58, 64, 16384, 64, 64, 16384},
		{1, 65536, 8, 2, 65536, 131456},
		{qp.MaxDepth, 208, 65536, 1 << 21, 256, 1<<29 + 65536},
	} {
		g, err := rings.NewGeometry(c.depth, c.elem, c.page)
		if err != nil {
			t.Errorf("depth %d of %d bytes: %v", c.depth, c.elem, err)
			continue
		}
		if g.Slots() != c.slots || g.Depth() != c.slots-1 || g.ElemSize() != c.elemOut || g.Size() != c.size {
			t.Errorf("depth %d of %d bytes: %d slots of %d bytes, depth %d, in %d bytes; want %d of %d in %d",
				c.depth, c.elem, g.Slots(), g.ElemSize(), g.Depth(), g.Size(), c.slots, c.elemOut, c.size)
		}
	}
}

func TestGeometryRefuses(t *testing.T) {
	for _, c := range []struct {
		depth, elem, page int
		says              string
	}{
		{-1, 64, 4096, "depth -1"},
		{qp.MaxDepth + 1, 64, 4096, "depth 1048577"},
		{8, 0, 4096, "element of 0 bytes"},
		{8, 65537, 4096, "element of 65537 bytes"},
		{8, 64, 0, "page size 0"},
		{8, 64, 4095, "page size 4095"},
		{8, 64, 4, "page size 4"},
		{qp.MaxDepth, 1024, 4096, "the limit is"},
	} {
		if _, err := rings.NewGeometry(c.depth, c.elem, c.page); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("depth %d of %d bytes, pages of %d: %v, want %q", c.depth, c.elem, c.page, err, c.says)
		}
	}
}

func TestHeader(t *testing.T) {
	g := shape(t, 5, 200)
	buf := newBuffer(g.Size() + 8)
	for i := range buf {
		buf[i] = 0xaa
	}
	if _, err := rings.NewRecvRing(g, buf, rings.RecvConfig{MaxSGE: 4}); err != nil {
		t.Fatal(err)
	}
	for at, want := range map[int]uint32{0: 8, 4: 7, 8: 0xaaaaaaaa, 124: 0xaaaaaaaa, 128: 0, 132: 0xaaaaaaaa, 256: 0,
		260: 0xaaaaaaaa, g.Size(): 0xaaaaaaaa} {
		if got := host.Uint32(buf[at:]); got != want {
			t.Errorf("at %d is %#x, want %#x", at, got, want)
		}
	}
}

func TestRingsRefuseWhatDoesNotFit(t *testing.T) {
	g := shape(t, 4, 64)
	small := newBuffer(g.Size())
	buf := newBuffer(g.Size() + 8)
	sends := func(g rings.Geometry, buf []byte, cfg rings.SendConfig) error {
		_, err := rings.NewSendRing(g, buf, cfg)
		return err
	}
	recvs := func(g rings.Geometry, buf []byte, sge int) error {
		_, err := rings.NewRecvRing(g, buf, rings.RecvConfig{MaxSGE: sge})
		return err
	}
	completions := func(g rings.Geometry, buf []byte) error {
		_, err := rings.NewCompletionRing(g, buf, nil)
		return err
	}
	for says, err := range map[string]error{
		"buffer of 4095 bytes":       recvs(g, small[:g.Size()-1], 1),
		"buffer of 0 bytes":          completions(g, nil),
		"multiple of 8":              completions(g, buf[4:]),
		"elements of 1 bytes":        completions(rings.Geometry{}, buf),
		"cannot be negative":         recvs(g, buf, -1),
		"receives of 2 SGEs need 72": recvs(g, buf, 2),
		"limits cannot be negative":  sends(g, buf, rings.SendConfig{MaxInline: -1}),
		"0 bytes inline need 216":    sends(g, buf, rings.SendConfig{}),
		"100 bytes inline need 308":  sends(g, buf, rings.SendConfig{MaxInline: 100}),
		"20 SGEs or":                 sends(shape(t, 4, 512), buf, rings.SendConfig{MaxSGE: 20}),
		"needs AH":                   sends(shape(t, 4, 256), buf, rings.SendConfig{Datagram: true}),
		"1 or more of 64":            completions(shape(t, 0, 64), buf),
		"elements of 128 bytes":      completions(shape(t, 1, 128), buf),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v, want %q", err, says)
		}
	}
}
