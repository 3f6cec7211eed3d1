package perftest

import (
	"bytes"
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	for v, want := range map[Version]float64{"6.06": 6.06, "5.70": 5.7, "6.06-dirty": 6.06, "6.0.1": 6.0,
		"": 0, "x": 0} {
		if got := v.Number(); got != want {
			t.Errorf("%q counts as %v, want %v", v, got, want)
		}
	}
	if n := Announced.Number(); n < OldestPeer || n >= 6.28 {
		t.Errorf("gorxe announces %v: peers refuse less than %v and want more than the script has from 6.28 on",
			n, OldestPeer)
	}
}

func TestItemsRefuseWhatNoToolWrites(t *testing.T) {
	key := string((&Key{}).Append(nil))
	for name, err := range map[string]error{
		"version without NUL": second(DecodeVersion([]byte("0000:000012:89e8"))),
		"version empty":       second(DecodeVersion(make([]byte, 16))),
		"version not text":    second(DecodeVersion([]byte("\x01\x02\x00............."))),
		"version short":       second(DecodeVersion([]byte("6.06\x00"))),
		"page size 0":         second(DecodeWord([]byte{0, 0, 0, 0}, MaxWord)),
		"page size absurd":    second(DecodeWord([]byte{0xff, 0, 0, 0}, MaxWord)),
		"page size short":     second(DecodeWord([]byte{1}, MaxWord)),
		"MTU 0":               second(DecodeMTU([]byte("0\x00"))),
		"MTU 6":               second(DecodeMTU([]byte("6\x00"))),
		"MTU two digits":      second(DecodeMTU([]byte("10"))),
		"MTU short":           second(DecodeMTU([]byte("1"))),
		"report field short":  new(Report).DecodeField(0, []byte{1}),
		"key short":           new(Key).Decode([]byte(key[:107])),
		"key without NUL":     new(Key).Decode([]byte(key[:107] + "0")),
		"key with a sign":     new(Key).Decode([]byte("-001" + key[4:])),
		"key bad separator":   new(Key).Decode([]byte("0000;" + key[5:])),
		"key bad GID":         new(Key).Decode([]byte(strings.Replace(key, ":00:", ":0x:", 1))),
		"key bad SRQN":        new(Key).Decode([]byte(key[:98] + "0000000_:\x00")),
		"key without GID":     new(Key).Decode(make([]byte, 59)),
	} {
		if err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestAPeerWithoutGIDIsToldToGiveOne(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go func() {
		exchange.WriteItem(b, "", AppendVersion(nil, "6.06"))
		exchange.ReadItem(b, "", make([]byte, VersionLen))
		exchange.WriteItem(b, "", append([]byte("0000:0001:000019:30f144:00000aaf:000055e906008711:00000000"), 0))
	}()
	end := &fixed{keys: []Key{{}}}
	err := Drive(a, exchange.Server, []Step{{Kind: VersionItem}, {Kind: KeyItem}}, end)
	if err == nil || !strings.Contains(err.Error(), "GID index with -x") {
		t.Errorf("got %v, want the advice to give a GID index", err)
	}
}

func TestDriveStopsAtTheFirstError(t *testing.T) {
	refuse := errors.New("refused")
	end := &fixed{failAct: refuse}
	if err := Drive(nil, exchange.Client, []Step{{Kind: Connect}, {Kind: Run}}, end); !errors.Is(err, refuse) ||
		len(end.acts) != 1 {
		t.Errorf("got %v after %v", err, end.acts)
	}
	a, b := net.Pipe()
	defer a.Close()
	go func() {
		exchange.WriteItem(b, "", AppendVersion(nil, "5.50"))
		exchange.ReadItem(b, "", make([]byte, VersionLen))
	}()
	if err := Drive(a, exchange.Server, []Step{{Kind: VersionItem}}, end); err == nil ||
		!strings.Contains(err.Error(), "5.50") {
		t.Errorf("peer of version 5.50: got %v", err)
	}
}

func TestAPeerThatCountsItsQueuePairsDifferentlyIsFoundOut(t *testing.T) {
	a, b := net.Pipe()
	done := make(chan error, 1)
	keys := []Key{{QPN: 1}, {QPN: 2}}
	go func() {
		done <- Drive(a, exchange.Server, whole(WriteBW, Params{Role: exchange.Server, QPs: 1}),
			&fixed{cycle: 4096, line: 64, mtu: 3, keys: keys})
		a.Close()
	}()
	end := &fixed{cycle: 4096, line: 64, mtu: 3, keys: keys}
	if err := Drive(b, exchange.Client, whole(WriteBW, Params{Role: exchange.Client, QPs: 2}), end); err == nil {
		t.Error("the client with more QPs noticed nothing")
	}
	if err := <-done; !errors.Is(err, errKeyChanged) {
		t.Errorf("the server: got %v, want errKeyChanged", err)
	}
}

func FuzzKey(f *testing.F) {
	f.Add(golden(f, "ib_write_bw.client")[26 : 26+KeyLen])
	f.Add(golden(f, "v6_write_bw_4096.server")[26 : 26+KeyLen])
	f.Add(make([]byte, KeyLen))
	f.Add(append([]byte("0000:0001:000019:30f144:00000aaf:000055e906008711:00000000"), 0))
	f.Fuzz(func(t *testing.T, b []byte) {
		var k, again Key
		if k.Decode(b) != nil {
			return
		}
		w := k.Append(nil)
		if !bytes.EqualFold(w, b) {
			t.Fatalf("%q decodes to %+v, which is written as %q", b, k, w)
		}
		if err := again.Decode(w); err != nil || again != k {
			t.Fatalf("%+v is written as %q, which decodes to %+v (%v)", k, w, again, err)
		}
	})
}

func FuzzItems(f *testing.F) {
	f.Add([]byte("6.06\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\x00\x00\x10\x00"))
	f.Add([]byte("3\x00"))
	f.Add([]byte("@\x1c\x0bH\xc7\x89\xa5\x14"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, err := DecodeVersion(b); err == nil {
			v.Number()
			if w := AppendVersion(nil, v); !bytes.HasPrefix(b, append([]byte(v), 0)) ||
				!bytes.HasPrefix(w, append([]byte(v), 0)) || len(w) != VersionLen {
				t.Errorf("version %q is written as %q", b, w)
			}
		}
		if v, err := DecodeWord(b, MaxWord); err == nil && !bytes.Equal(AppendWord(nil, v), b) {
			t.Errorf("word %q does not survive", b)
		}
		if v, err := DecodeMTU(b); err == nil && !bytes.Equal(AppendMTU(nil, v), b) {
			t.Errorf("MTU %q does not survive", b)
		}
		for i := range ReportFields {
			var r Report
			if err := r.DecodeField(i, b); err == nil && !bytes.Equal(r.AppendField(nil, i), b) {
				t.Errorf("report field %d %q does not survive", i, b)
			}
		}
	})
}

// FuzzPeer uses arbitrary bytes as the peer of a whole test: no input may hang or panic.
func FuzzPeer(f *testing.F) {
	for _, c := range captures {
		f.Add(golden(f, c.file+".server"), uint8(c.test), true)
		f.Add(golden(f, c.file+".client"), uint8(c.test), false)
	}
	f.Fuzz(func(t *testing.T, peer []byte, test uint8, client bool) {
		role := exchange.Server
		if client {
			role = exchange.Client
		}
		end := &fixed{cycle: 4096, line: 64, mtu: 3, keys: []Key{{QPN: 1}}, reports: []Report{{}}}
		steps := whole(Test(int(test)%len(Tests)), Params{Role: role, QPs: 1, Sizes: []uint64{64}})
		Drive(&replay{peer: bytes.NewReader(peer), role: role}, role, steps, end)
	})
}
