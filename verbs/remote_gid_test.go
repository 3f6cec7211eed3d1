package verbs_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestARequestTellsWhereItCameFrom(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	a, b := verbstest.Open(t, cfg[0], 64), verbstest.Open(t, cfg[1], 64)
	l := b.ListenAt(verbs.PortSpaceTCP, 0)
	out := a.Dial(t.Context(), b.At(l.Addr().Port()), verbs.DefaultConnParam())
	r := b.Next(l)
	g, err := a.Device.GID(0)
	if err != nil {
		t.Fatal(err)
	}
	if r.RemoteGID() != g.GID {
		t.Errorf("from %v, want %v", r.RemoteGID(), g.GID)
	}
	if err := r.Reject(nil); err != nil {
		t.Error(err)
	}
	if d := <-out; d.Err == nil {
		t.Error("what was refused is connected")
	}
}
