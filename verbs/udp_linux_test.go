package verbs_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/verbs"
)

// exchange moves messages of many sizes in every way between two connected nodes.
func exchange(t *testing.T, a, b *testNode) {
	t.Helper()
	var wc [1]verbs.WC
	rnd := rand.NewChaCha8([32]byte{1})
	for _, size := range []int{0, 1, 3, 4096, 4097, 65536, 1_000_003} {
		rnd.Read(a.buf[:size])
		for _, op := range []verbs.WROpcode{verbs.WRWrite, verbs.WRRead, verbs.WRSend} {
			from, to := a.buf[:size], b.buf[:size]
			if op == verbs.WRRead {
				from, to = to, from
			}
			clear(to)
			if op == verbs.WRSend {
				if err := b.qp.PostRecv(&verbs.RecvWR{SGList: []verbs.SGE{b.mr.SGE(0, size)}}); err != nil {
					t.Fatal(err)
				}
			}
			b.fence()
			if err := a.qp.PostSend(a.oneSided(op, b, size)); err != nil {
				t.Fatal(err)
			}
			if op == verbs.WRSend {
				b.wait(1, wc[:])
			}
			a.wait(1, wc[:])
			b.fence()
			if !bytes.Equal(from, to) {
				t.Errorf("%v of %d bytes: other bytes arrived", op, size)
			}
		}
	}
	for name, n := range b.dev.Counters() {
		if n > 0 && name == "drop_bad_icrc" {
			t.Errorf("%d packets with a wrong ICRC", n)
		}
	}
}

func TestUDPExchange(t *testing.T) {
	a, b := connectedNodes(t, udpDevices(t), 1<<20)
	exchange(t, a, b)
}

// Two queue pairs of one device: its link carries both ways, and over IPv6 the ICRC is
// checked in full.
func TestUDPToItselfOverIPv6(t *testing.T) {
	if _, _, _, err := packet.HostAddrs("::1"); err != nil {
		t.Skipf("no IPv6 loopback address: %v", err)
	}
	a := openNode(t, verbs.Config{Device: "::1"}, 1<<20)
	b := *a
	b.buf = make([]byte, 1<<20)
	var err error
	if b.cq, err = a.dev.CreateCQ(64); err != nil {
		t.Fatal(err)
	}
	if b.mr, err = b.pd.RegMR(b.buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead); err != nil {
		t.Fatal(err)
	}
	b.qp, b.info = b.newQP()
	connectQPs(t, a.qp, b.qp, a.info, b.info)
	exchange(t, a, &b)
}

func TestUDPPortInUse(t *testing.T) {
	cfg := udpDevices(t)[0]
	openNode(t, cfg, 64)
	d, err := verbs.Open(cfg)
	if err == nil {
		d.Close()
	}
	says(t, err, "127.55.4.1", "4791", "in use")
}

func TestUDPCloseLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	a, b := connectedNodes(t, udpDevices(t), 4096)
	var wc [1]verbs.WC
	if err := a.qp.PostSend(a.oneSided(verbs.WRWrite, b, 64)); err != nil {
		t.Fatal(err)
	}
	a.wait(1, wc[:])
	if runtime.NumGoroutine() == before {
		t.Fatal("no goroutine to leave behind: this test counts nothing")
	}
	if err := errors.Join(a.dev.Close(), b.dev.Close()); err != nil {
		t.Fatal(err)
	}
	// A goroutine that Close has waited for still has its last instructions to run, when the
	// host lets it. One that stays is shown by name when the test runs into its time limit.
	for runtime.NumGoroutine() > before {
		runtime.Gosched()
	}
}

// Of the addresses of an interface those become GIDs that Admit chooses.
func TestAdmitChoosesGIDs(t *testing.T) {
	dev, err := verbs.Open(verbs.Config{Device: "127.55.4.9", Admit: netip.Addr.Is4})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if gids := dev.GIDs(); len(gids) != 1 {
		t.Errorf("%+v", gids)
	}
	if _, err := verbs.Open(verbs.Config{Device: "127.55.4.9", Admit: netip.Addr.Is6}); err == nil || !strings.Contains(err.Error(), "no address of 127.55.4.9 is one that Config.Admit chooses") {
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
	if _, err := verbs.Open(verbs.Config{Device: "127.55.4.9", MTU: 1500}); err == nil || !strings.Contains(err.Error(), "path MTU 1500: it must be") {
		t.Errorf("with a wrong MTU: %v", err)
	}
}
