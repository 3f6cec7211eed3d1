package verbstest

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/verbs"
)

// MustFail fails the test unless err is an error whose text contains want.
func MustFail(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want one with %q", err, want)
	}
}

// BindableRegion returns a region of n that windows may be bound to.
func (n *Node) BindableRegion(size int) *verbs.MR {
	n.Helper()
	m, err := n.PD.RegMR(make([]byte, size), verbs.LocalWrite|verbs.MWBind)
	if err != nil {
		n.Fatal(err)
	}
	return m
}

// Window returns a memory window of n.
func (n *Node) Window(typ verbs.MWType) *verbs.MW {
	n.Helper()
	w, err := n.PD.AllocMW(typ)
	if err != nil {
		n.Fatal(err)
	}
	return w
}

// Post posts a request that must be accepted.
func (n *Node) Post(wr *verbs.SendWR) {
	n.Helper()
	if err := n.QP.PostSend(wr); err != nil {
		n.Fatal(err)
	}
}

// Ends posts a request and waits for its completion, which must have the status want.
func (n *Node) Ends(wr *verbs.SendWR, want verbs.WCStatus) {
	n.Helper()
	wr.Flags |= verbs.Signaled
	n.Post(wr)
	var wc [1]verbs.WC
	if _, err := n.CQ.Wait(n.Context(), wc[:]); err != nil {
		n.Fatal(err)
	}
	if wc[0].Status != want {
		n.Fatalf("%v ends with %v, want %v", wr.Opcode, wc[0].Status, want)
	}
}
