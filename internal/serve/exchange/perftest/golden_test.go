package perftest

import (
	"bytes"
	"errors"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

func golden(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// replay is a connection with a recorded peer. It enforces lock step: the peer's next item can be
// read only when this end has written as much as it had at that point of the recording.
type replay struct {
	net.Conn
	peer  *bytes.Reader
	role  exchange.Role
	read  int
	wrote bytes.Buffer
}

func (r *replay) Read(b []byte) (int, error) {
	if r.role == exchange.Client && r.wrote.Len() <= r.read {
		return 0, errors.New("this end waits for an item before it has written its own")
	}
	n, err := r.peer.Read(b)
	r.read += n
	return n, err
}

func (r *replay) Write(b []byte) (int, error) {
	if r.role == exchange.Server && r.wrote.Len()+len(b) > r.read {
		return 0, errors.New("this end writes before it has read the peer's item")
	}
	return r.wrote.Write(b)
}

func (*replay) SetDeadline(time.Time) error { return nil }

// fixed is an End with fixed answers that records its calls.
type fixed struct {
	cycle, line uint32
	mtu         uint8
	keys        []Key
	reports     []Report

	peerCycle, peerLine uint32
	peerMTU             uint8
	peerKeys            []Key
	peerReports         []Report
	acts                []string
	failAct             error
}

func (f *fixed) Sizes() (uint32, uint32)     { return f.cycle, f.line }
func (f *fixed) PeerSizes(c, l uint32) error { f.peerCycle, f.peerLine = c, l; return nil }
func (f *fixed) MTU() uint8                  { return f.mtu }
func (f *fixed) PeerMTU(e uint8) error       { f.peerMTU = e; return nil }
func (f *fixed) Key(qp int) Key              { return f.keys[qp] }
func (f *fixed) Report() Report              { return f.reports[min(len(f.peerReports), len(f.reports)-1)] }
func (f *fixed) PeerReport(r Report) error   { f.peerReports = append(f.peerReports, r); return nil }
func (f *fixed) Act(s Step) error            { f.acts = append(f.acts, s.String()); return f.failAct }
func (f *fixed) PeerKey(qp int, k Key, again bool) error {
	if !again {
		f.peerKeys = append(f.peerKeys, k)
	} else if f.peerKeys[qp] != k {
		return errors.New("the key changed")
	}
	return nil
}

var captures = []struct {
	file     string
	test     Test
	size     uint64
	mtu      uint8
	complete bool // the capture includes the end of the TCP connection
	client   Key
	server   Key
	report   Report
}{
	{"ib_write_bw", WriteBW, 10001, 3, true,
		Key{OutReads: 1, QPN: 0x19, PSN: 0x30f144, RKey: 0xaaf, VAddr: 0x55e906008711, GID: gid4(2)},
		Key{OutReads: 1, QPN: 0x19, PSN: 0x321271, RKey: 0x971, VAddr: 0x5610c368e711, GID: gid4(3)},
		Report{Size: 10001, Iters: 20, Peak: 7.0110198190461865, Average: 6.5363192241834334, MsgRate: 0.00068531898}},
	{"ib_read_bw", ReadBW, 10001, 3, false,
		Key{OutReads: 128, QPN: 0x1a, PSN: 0xb2ce66, RKey: 0xb3e, VAddr: 0x56424d565711, GID: gid4(2)},
		Key{OutReads: 128, QPN: 0x1a, PSN: 0xbd8b71, RKey: 0xa3e, VAddr: 0x55c51b21d711, GID: gid4(3)}, Report{}},
	{"ib_send_bw", SendBW, 10001, 3, false,
		Key{OutReads: 1, QPN: 0x1b, PSN: 0x4f78a5, VAddr: 0x55bf31cc5711, GID: gid4(2)},
		Key{OutReads: 1, QPN: 0x1b, PSN: 0x3f6894, VAddr: 0x55decd5ff711, GID: gid4(3)}, Report{}},
	{"v6_write_bw_4096", WriteBW, 20001, 5, false,
		Key{OutReads: 1, QPN: 0x11, PSN: 0x492158, RKey: 0x2ae, VAddr: 0x55b4cc2b2e21, GID: gid6(2)},
		Key{OutReads: 1, QPN: 0x11, PSN: 0x33d0e9, RKey: 0x2ab, VAddr: 0x5653f7116e21, GID: gid6(3)}, Report{}},
	{"write_lat_small", WriteLat, 13, 5, true,
		Key{OutReads: 1, QPN: 0x14, PSN: 0xbf9c07, RKey: 0x5b5, VAddr: 0x55c733a70000, GID: gid4(2)},
		Key{OutReads: 1, QPN: 0x14, PSN: 0xfeb3f5, RKey: 0x5a0, VAddr: 0x556be0033000, GID: gid4(3)}, Report{}},
}

func gid4(d byte) [16]byte {
	return [16]byte{10: 0xff, 11: 0xff, 12: 198, 13: 18, 15: d}
}
func gid6(d byte) [16]byte { return [16]byte{0: 0xfd, 3: 0x18, 15: d} }

// recordedReport returns the report in a complete bandwidth stream: the five fields before the
// closing key and "done".
func recordedReport(t *testing.T, stream []byte) Report {
	t.Helper()
	tail := len(Done) + KeyLen + ReportFields*FieldLen
	var r Report
	for i := range ReportFields {
		if err := r.DecodeField(i, stream[len(stream)-tail+i*FieldLen:][:FieldLen]); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Each end, driven with the recording of its peer, must write what the real tool wrote.
func TestEachEndWritesWhatTheRealToolWrote(t *testing.T) {
	for _, c := range captures {
		for _, role := range []exchange.Role{exchange.Client, exchange.Server} {
			t.Run(c.file+"/"+role.String(), func(t *testing.T) {
				mine, peer := golden(t, c.file+".client"), golden(t, c.file+".server")
				end := &fixed{cycle: 4096, line: 64, mtu: c.mtu, keys: []Key{c.client}}
				want := &fixed{peerCycle: 4096, peerLine: 64, peerMTU: c.mtu, peerKeys: []Key{c.server}}
				if role == exchange.Server {
					mine, peer = peer, mine
					end.keys[0], want.peerKeys[0] = c.server, c.client
				}
				if c.complete && !c.test.Latency() {
					end.reports = []Report{recordedReport(t, mine)}
					want.peerReports = []Report{recordedReport(t, peer)}
				}
				conn := &replay{peer: bytes.NewReader(peer), role: role}
				err := Drive(conn, role, whole(c.test, Params{Role: role, QPs: 1, Sizes: []uint64{c.size}}), end)
				if c.complete && err != nil {
					t.Fatal(err)
				}
				if !c.complete && !errors.Is(err, exchange.ErrPeerClosed) {
					t.Fatalf("got %v, want the end of the recording", err)
				}
				got := conn.wrote.Bytes()
				if !c.complete && role == exchange.Client {
					got = got[:len(mine)] // the item for which the recording has no answer
				}
				if !bytes.Equal(got, mine) {
					t.Errorf("wrote\n%q\nthe tool wrote\n%q", got, mine)
				}
				if n := conn.peer.Len(); n != 0 {
					t.Errorf("%d bytes of the peer were never read", n)
				}
				got2 := &fixed{peerCycle: end.peerCycle, peerLine: end.peerLine, peerMTU: end.peerMTU,
					peerKeys: end.peerKeys}
				want.peerReports = nil
				if diff := cmp.Diff(want, got2, cmp.AllowUnexported(fixed{})); diff != "" {
					t.Errorf("learnt from the peer: %s", diff)
				}
			})
		}
	}
}

func TestTheClientsReportIsReadFromTheRecording(t *testing.T) {
	c := captures[0]
	got := recordedReport(t, golden(t, c.file+".client"))
	approx := cmp.Comparer(func(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 })
	if diff := cmp.Diff(c.report, got, approx); diff != "" {
		t.Error(diff)
	}
}

func TestTheRunStandsWhereTheTrafficWas(t *testing.T) {
	for _, tt := range []struct {
		test Test
		role exchange.Role
		imm  bool
		want string
	}{
		{WriteBW, exchange.Client, false, "version,page size,cache line size,path MTU,key of QP 0,connect,key (again) of QP 0,sync,run (8 bytes),sync,report,close"},
		{WriteBW, exchange.Server, false,
			"version,page size,cache line size,path MTU,key of QP 0,connect,key (again) of QP 0,sync,sync,report,close"},
		{SendBW, exchange.Client, false, "version,page size,cache line size,path MTU,key of QP 0,connect,sync,key (again) of QP 0,post receives (8 bytes),sync,run (8 bytes),close"},
		{WriteLat, exchange.Server, false, "version,page size,cache line size,path MTU,sync,key of QP 0,connect,key (again) of QP 0,sync,run (8 bytes)"},
		{ReadLat, exchange.Client, false, "version,page size,cache line size,path MTU,sync,key of QP 0,connect,key (again) of QP 0,sync,run (8 bytes),close"},
		{ReadLat, exchange.Server, false,
			"version,page size,cache line size,path MTU,sync,key of QP 0,connect,key (again) of QP 0,sync,close"},
		{SendLat, exchange.Server, false, "version,page size,cache line size,path MTU,key of QP 0,connect,sync,key (again) of QP 0,post receives (8 bytes),sync,run (8 bytes),close"},
		{AtomicBW, exchange.Client, false, "version,page size,cache line size,path MTU,key of QP 0,connect,key (again) of QP 0,sync,run (8 bytes),sync,report,close"},
		{AtomicLat, exchange.Client, false, "version,page size,cache line size,path MTU,sync,key of QP 0,connect,key (again) of QP 0,sync,run (8 bytes),close"},
		{AtomicLat, exchange.Server, false,
			"version,page size,cache line size,path MTU,sync,key of QP 0,connect,key (again) of QP 0,sync,close"},
		{WriteBW, exchange.Server, true, "version,page size,cache line size,path MTU,key of QP 0,connect,key (again) of QP 0,sync,post receives (8 bytes),sync,run (8 bytes),close"},
		{WriteLat, exchange.Client, true, "version,page size,cache line size,path MTU,sync,key of QP 0,connect,key (again) of QP 0,sync,post receives (8 bytes),sync,run (8 bytes)"},
	} {
		var names []string
		for _, s := range whole(tt.test, Params{Role: tt.role, QPs: 1, Sizes: []uint64{8}, Immediate: tt.imm}) {
			names = append(names, s.String())
		}
		if got := strings.Join(names, ","); got != tt.want {
			t.Errorf("%v %v:\n got %s\nwant %s", tt.test, tt.role, got, tt.want)
		}
	}
}
