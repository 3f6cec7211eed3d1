package verbs_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// hugeMemory is memory of that length that stores nothing.
type hugeMemory uint64

func (m hugeMemory) Size() uint64                   { return uint64(m) }
func (hugeMemory) ReadAt(p []byte, _ uint64) error  { clear(p); return nil }
func (hugeMemory) WriteAt(p []byte, _ uint64) error { return nil }

func TestARandomIOVAKeepsThePlaceInThePageAndTellsNothing(t *testing.T) {
	n := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64)
	buf := make([]byte, 8192)
	plain, err := n.PD.RegMR(buf, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ones, zeros uint64
	for range 200 {
		r, err := n.PD.RegMR(buf[3:], verbs.RemoteRead, verbs.WithIOVA(1), verbs.WithRandomIOVA())
		if err != nil {
			t.Fatal(err)
		}
		if got, want := r.Addr()&4095, (plain.Addr()+3)&4095; got != want {
			t.Fatalf("address %#x: %#x in its page, want %#x", r.Addr(), got, want)
		}
		ones, zeros = ones|r.Addr(), zeros|^r.Addr()
		far, err := n.PD.RegMemory(hugeMemory(1<<63), verbs.RemoteRead, verbs.WithRandomIOVA())
		if err != nil {
			t.Fatalf("the largest memory: %v", err)
		}
		if far.Addr()&4095 != 0 {
			t.Fatalf("address %#x of memory that is not in this process is not that of a page", far.Addr())
		}
	}
	// In 200 draws each bit of the page has both values, except with probability 51 in 2^199.
	const page = 1<<63 - 1<<12
	if ones&page != page || zeros&page != page || ones>>63 != 0 {
		t.Errorf("bits that were 1: %#x, and 0: %#x; want all of %#x", ones, zeros, uint64(page))
	}
}

func TestARegionAtARandomIOVAIsWrittenAndRead(t *testing.T) {
	a, b := verbstest.Connected(t, verbstest.PipeLinks(t), 4096)
	buf := make([]byte, 4096)
	r, err := b.PD.RegMR(buf, verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead, verbs.WithRandomIOVA())
	if err != nil {
		t.Fatal(err)
	}
	copy(a.Buf, "to an address that only the peer was told")
	want, wc := bytes.Clone(a.Buf), make([]verbs.WC, 1)
	for _, op := range []verbs.WROpcode{verbs.WRWrite, verbs.WRRead} {
		wr := a.OneSided(op, b, 4096)
		wr.RemoteAddr, wr.RKey = r.Addr(), r.RKey()
		if err := a.QP.PostSend(wr); err != nil {
			t.Fatal(err)
		}
		a.Wait(1, wc)
		a.Fence()
		if op == verbs.WRWrite {
			clear(a.Buf)
			a.Fence()
		}
	}
	if !bytes.Equal(a.Buf, want) {
		t.Errorf("%q came back", a.Buf[:64])
	}
}

func TestAZeroBasedRegionHasNoRandomIOVA(t *testing.T) {
	n := verbstest.Open(t, verbstest.PipeLinks(t)[0], 64)
	_, err := n.PD.RegMR(n.Buf, verbs.RemoteRead|verbs.ZeroBased, verbs.WithRandomIOVA())
	if err == nil || !strings.Contains(err.Error(), "begins at address 0") {
		t.Errorf("error %v", err)
	}
	if r, err := n.PD.RegMR(n.Buf, 0, verbs.WithRandomIOVA(), verbs.WithIOVA(0x4000)); err != nil ||
		r.Addr() != 0x4000 {
		t.Errorf("the last option does not decide: %v", err)
	}
}

func TestPSNsAreOf24BitsAndNoSequence(t *testing.T) {
	var ones, zeros verbs.PSN
	for range 200 {
		p := verbs.RandomPSN()
		ones, zeros = ones|p, zeros|^p&0xffffff
	}
	if ones != 0xffffff || zeros != 0xffffff {
		t.Errorf("bits that were 1: %#x, and 0: %#x", ones, zeros)
	}
}
