package perftest

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// recorded is the recorded client end of a connection of rdma_cm. It enforces lock step, as stock
// tools have one receive posted: an item may be sent to it only after its own item was received,
// and it sends no item before it has the answer to the previous one.
type recorded struct {
	items [][]byte
	taken int
	sent  [][]byte
}

func (r *recorded) Receive(b []byte) (int, error) {
	switch {
	case r.taken == len(r.items):
		return 0, errors.New("the client sends nothing more")
	case len(r.sent) != r.taken:
		return 0, errors.New("this end reads an item before it has answered the last")
	}
	r.taken++
	item := r.items[r.taken-1]
	copy(b, item)
	return len(item), nil
}

func (r *recorded) Send(b []byte) error {
	if len(r.sent) != r.taken-1 {
		return errors.New("this end sends before it has read the client's item")
	}
	if want := len(r.items[r.taken-1]); len(b) != want {
		return errors.New("the answer has another length than the client's item")
	}
	r.sent = append(r.sent, bytes.Clone(b))
	return nil
}

func recording(t testing.TB, name string) *recorded {
	t.Helper()
	r := &recorded{}
	for line := range strings.FieldsSeq(string(golden(t, "managed/"+name+".client"))) {
		b, err := hex.DecodeString(line)
		if err != nil {
			t.Fatal(err)
		}
		r.items = append(r.items, b)
	}
	return r
}

func TestServerUnderstandsEveryRecordedClientOfRdmaCM(t *testing.T) {
	for _, c := range []struct {
		name string
		test Test
		qps  int
		size uint64
		key  Key // of the first queue pair; without a QPN, only its contents
	}{
		{"write_bw_45", WriteBW, 1, 64, Key{OutReads: 1, QPN: 0x1e, PSN: 0x32168f, RKey: 0xe0a, VAddr: 0x55d3d6c86000}},
		{"write_bw_q2_45", WriteBW, 2, 64, Key{OutReads: 1}},
		{"read_bw_45", ReadBW, 1, 64, Key{OutReads: 128}},
		{"send_bw_45", SendBW, 1, 64, Key{OutReads: 1}},
		{"write_lat_45", WriteLat, 1, 2, Key{OutReads: 1}},
		{"read_lat_45", ReadLat, 1, 2, Key{OutReads: 128}},
		{"send_lat_45", SendLat, 1, 2, Key{OutReads: 1}},
		{"write_bw_2501", WriteBW, 1, 64, Key{OutReads: 1}},
		{"send_bw_2501", SendBW, 1, 64, Key{OutReads: 1}},
		{"read_bw_2501", ReadBW, 1, 64, Key{OutReads: 128}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := recording(t, c.name)
			end := &fixed{cycle: 4096, line: 64, mtu: 5, reports: []Report{{Size: c.size}}}
			for i := range c.qps {
				end.keys = append(end.keys, Key{QPN: 0x100 + uint32(i)})
			}
			steps := whole(c.test, Params{Role: exchange.Server, QPs: c.qps, Sizes: []uint64{c.size}, Managed: true})
			if err := DriveManaged(r, exchange.Server, steps, end); err != nil {
				t.Fatal(err)
			}
			if r.taken != len(r.items) {
				t.Errorf("%d of the client's %d items were read", r.taken, len(r.items))
			}
			if len(end.peerKeys) != c.qps || end.peerCycle != 4096 || end.peerLine != 64 || end.peerMTU != 5 {
				t.Errorf("learnt %d keys, sizes %d and %d, MTU %d", len(end.peerKeys), end.peerCycle,
					end.peerLine, end.peerMTU)
			}
			k := end.peerKeys[0]
			if k.GID != gid4(1) || k.OutReads != c.key.OutReads || k.QPN < 16 {
				t.Errorf("key %+v", k)
			}
			if c.key.QPN != 0 {
				if c.key.GID = gid4(1); k != c.key {
					t.Errorf("key %+v, want %+v", k, c.key)
				}
			}
			for _, report := range end.peerReports {
				if report.Size != c.size || report.Iters != uint64(5*c.qps) {
					t.Errorf("report %+v, want 5 messages of %d bytes per queue pair", report, c.size)
				}
			}
			if want := c.test == WriteBW || c.test == ReadBW; want != (len(end.peerReports) == 1) {
				t.Errorf("%d reports", len(end.peerReports))
			}
		})
	}
}

// pipe is one end of a connection of messages.
type pipe struct {
	in  <-chan []byte
	out chan<- []byte
}

func (p *pipe) Send(b []byte) error {
	p.out <- bytes.Clone(b)
	return nil
}

func (p *pipe) Receive(b []byte) (int, error) {
	m, ok := <-p.in
	if !ok {
		return 0, exchange.ErrPeerClosed
	}
	copy(b, m)
	return len(m), nil
}

func TestEveryManagedTestRunsAgainstItself(t *testing.T) {
	everyRun(func(name string, test Test, p Params) {
		p.Managed = true
		a, b := make(chan []byte, 1), make(chan []byte, 1)
		lines := [2]*pipe{{in: a, out: b}, {in: b, out: a}}
		var ends [2]*fixed
		for role := range ends {
			e := &fixed{cycle: 4096, line: 64, mtu: 3, reports: []Report{{Size: 1, Average: 2}}}
			for i := range p.QPs {
				e.keys = append(e.keys,
					Key{QPN: uint32(1000*role + 16 + i), VAddr: uint64(role+1) << 40, RKey: uint32(role)})
			}
			ends[role] = e
		}
		done := make(chan error)
		drive := func(role exchange.Role) error {
			p := p
			p.Role = role
			return DriveManaged(lines[role], role, whole(test, p), ends[role])
		}
		go func() { done <- drive(exchange.Server) }()
		if err := drive(exchange.Client); err != nil {
			t.Errorf("%s: client: %v", name, err)
		}
		if err := <-done; err != nil {
			t.Errorf("%s: server: %v", name, err)
		}
		for i, e := range ends {
			if diff := cmp.Diff(ends[1-i].keys, e.peerKeys); diff != "" {
				t.Errorf("%s: %v learnt keys %s", name, exchange.Role(i), diff)
			}
		}
	})
}

func TestManagedServerListensBeforeTheClientMayConnect(t *testing.T) {
	everyRun(func(name string, test Test, p Params) {
		p.Managed = true
		for _, p.Role = range []exchange.Role{exchange.Client, exchange.Server} {
			var order []Kind
			for _, s := range Script(test, p) {
				if s.Kind == Listen || s.Kind == GateItem || s.Kind == Connect {
					order = append(order, s.Kind)
				}
			}
			want := []Kind{GateItem, Connect, GateItem}
			if p.Role == exchange.Server {
				want = append([]Kind{Listen}, want...)
			}
			if diff := cmp.Diff(want, order); diff != "" {
				t.Errorf("%s %v: %s", name, p.Role, diff)
			}
		}
	})
}

func TestBinaryKeyHasEveryFieldInItsPlace(t *testing.T) {
	k := Key{LID: 0x0102, OutReads: 0x0304, QPN: 0x050607, PSN: 0x08090a, RKey: 0x0b0c0d0e, VAddr: 0x0f10111213141516,
		GID: gid4(9), SRQN: 0x17}
	got := hex.EncodeToString(k.AppendBinary(nil))
	const want = "00000102" + "00000304" + "00050607" + "0008090a" + "0b0c0d0e" + "00000000" + "0f10111213141516" +
		"00000000000000000000ffffc6120009" + "00000017" + "00000000"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var again Key
	if err := again.DecodeBinary(k.AppendBinary(nil)); err != nil || again != k {
		t.Errorf("%+v, %v, want %+v", again, err, k)
	}
	dirty := k.AppendBinary(nil)
	dirty[20], dirty[55] = 0x5a, 1 // contents of the gap in stock tools, and their GID index
	if err := again.DecodeBinary(dirty); err != nil || again != k {
		t.Errorf("with noise in the gap: %+v, %v", again, err)
	}
}

func TestBinaryKeyRefusesWhatDoesNotFit(t *testing.T) {
	for name, at := range map[string]int{"LID": keyLIDAt, "OUT_READS": keyOutReadsAt, "QPN": keyQPNAt,
		"PSN": keyPSNAt} {
		b := (&Key{}).AppendBinary(nil)
		b[at] = 1
		var wrong *KeyError
		if err := new(Key).DecodeBinary(b); !errors.As(err, &wrong) || !strings.HasPrefix(wrong.Field, name) {
			t.Errorf("%s too large: %v", name, err)
		}
	}
	if new(Key).DecodeBinary(make([]byte, BinaryKeyLen-1)) == nil {
		t.Error("a key that is too short is accepted")
	}
}

func TestMessageOfAnotherLengthIsRefused(t *testing.T) {
	for _, n := range []int{0, 15, 17, 4096} {
		r := &recorded{items: [][]byte{make([]byte, n)}}
		err := DriveManaged(r, exchange.Server, []Step{{Kind: VersionItem}}, &fixed{})
		if err == nil || !strings.Contains(err.Error(), "another test") {
			t.Errorf("version of %d bytes: %v", n, err)
		}
	}
}

func FuzzBinaryKey(f *testing.F) {
	for _, item := range recording(f, "read_bw_2501").items {
		f.Add(item)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var k, again Key
		if k.DecodeBinary(b) != nil {
			return
		}
		if err := again.DecodeBinary(k.AppendBinary(nil)); err != nil || again != k {
			t.Fatalf("%+v comes back as %+v, %v", k, again, err)
		}
	})
}
