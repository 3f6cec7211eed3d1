package verbs_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

func TestARequestTellsWhereItCameFrom(t *testing.T) {
	cfg := pipeLinks(t)
	a, b := openNode(t, cfg[0], 64), openNode(t, cfg[1], 64)
	l := b.listenAt(verbs.PortSpaceTCP, 0)
	out := a.dial(t.Context(), b.at(l.Addr().Port()), verbs.DefaultConnParam())
	r := b.next(l)
	g, err := a.dev.GID(0)
	if err != nil {
		t.Fatal(err)
	}
	if r.RemoteGID() != g.GID {
		t.Errorf("from %v, want %v", r.RemoteGID(), g.GID)
	}
	if err := r.Reject(nil); err != nil {
		t.Error(err)
	}
	if d := <-out; d.err == nil {
		t.Error("what was refused is connected")
	}
}
