package devinfo

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/packet/links"
	"github.com/gorxe/gorxe/verbs"
)

var linkChoices = []links.Choice{
	{Kind: "xdp", Err: errors.New("packet: xdp 192.0.2.1: eth0: another\nprogram")}, {Kind: "raw"},
	{Kind: "udp", Err: errors.New("raw is faster")},
}

func TestDevinfoSaysOfEachKindOfLinkOnce(t *testing.T) {
	var i deviceInfo
	for range 2 {
		i.addLinks(&verbs.GIDEntry{Link: "raw"}, linkChoices)
	}
	i.addLinks(&verbs.GIDEntry{Link: "xdp", Detail: "native mode"}, nil)
	want := []string{
		"raw", "xdp: not chosen: xdp 192.0.2.1: eth0: another; program", "udp: not chosen: raw is faster",
		"xdp, native mode",
	}
	if !slices.Equal(i.Links, want) {
		t.Errorf("got %q, want %q", i.Links, want)
	}
}

func TestLinkOfNoKind(t *testing.T) {
	r := newWorld().Run(t.Context(), "devinfo --link wire -d 127.66.0.1")
	if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), "choose udp, raw, xdp or auto") {
		t.Errorf("%v", r)
	}
}
