package verbs_test

import (
	"errors"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestUDPExchange(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.UDPDevices(t), 1<<20)
	verbstest.Exchange(t, a, b)
}

// Two queue pairs of one device: its link carries both directions, and over IPv6 the ICRC is
// fully checked.
func TestUDPToItselfOverIPv6(t *testing.T) {
	if _, _, _, err := packet.HostAddrs("::1"); err != nil {
		t.Skipf("no IPv6 loopback address: %v", err)
	}
	a := verbstest.Open(t, verbs.Config{Device: "::1"}, 1<<20)
	b := *a
	b.Buf = make([]byte, 1<<20)
	var err error
	if b.CQ, err = a.Device.CreateCQ(64); err != nil {
		t.Fatal(err)
	}
	if b.MR, err = b.PD.RegMR(b.Buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	b.QP, b.Info = b.NewQP()
	verbstest.ConnectQPs(t, a.QP, b.QP, a.Info, b.Info)
	verbstest.Exchange(t, a, &b)
}

func TestUDPPortInUse(t *testing.T) {
	cfg := verbstest.UDPDevices(t)[0]
	verbstest.Open(t, cfg, 64)
	d, err := verbs.Open(cfg)
	if err == nil {
		d.Close()
	}
	verbstest.MustMention(t, err, "127.55.4.1", "4791", "in use")
}

func TestUDPCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	a, b := verbstest.Connected(t, verbstest.UDPDevices(t), 4096)
	var wc [1]verbs.WC
	if err := a.QP.PostSend(a.OneSided(verbs.WRWrite, b, 64)); err != nil {
		t.Fatal(err)
	}
	a.Wait(1, wc[:])
	if runtime.NumGoroutine() == before {
		t.Fatal("no goroutine to leave behind: this test counts nothing")
	}
	if err := errors.Join(a.Device.Close(), b.Device.Close()); err != nil {
		t.Fatal(err)
	}
	// A goroutine that Close has waited for still has its last instructions to run. A remaining
	// goroutine is shown by name when the test times out.
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

// Config.Admit selects the addresses of an interface that become GIDs.
func TestAdmitChoosesGIDs(t *testing.T) {
	dev, err := verbs.Open(verbs.Config{Device: "127.55.4.9", Admit: netip.Addr.Is4})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if gids := dev.GIDs(); len(gids) != 1 {
		t.Errorf("%+v", gids)
	}
	if _, err := verbs.Open(verbs.Config{Device: "127.55.4.9", Admit: netip.Addr.Is6}); err == nil ||
		!strings.Contains(err.Error(), "no address of 127.55.4.9 is one that Config.Admit chooses") {
		t.Errorf("with none chosen: %v", err)
	}
	waits, err := verbs.Open(verbs.Config{Device: "127.55.4.9", Admit: netip.Addr.Is6, Follow: true})
	if err != nil {
		t.Fatalf("with none chosen, following: %v", err)
	}
	if gids := waits.GIDs(); len(gids) != 0 || waits.PortAttr().State != "PORT_DOWN" {
		t.Errorf("with none chosen, following: %s, %+v", waits.PortAttr().State, gids)
	}
	if err := waits.Close(); err != nil {
		t.Error(err)
	}
	if _, err := verbs.Open(verbs.Config{Device: "127.55.4.9", MTU: 1500}); err == nil ||
		!strings.Contains(err.Error(), "path MTU 1500: it must be") {
		t.Errorf("with a wrong MTU: %v", err)
	}
}
