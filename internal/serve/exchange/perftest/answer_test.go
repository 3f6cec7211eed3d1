package perftest

import (
	"bufio"
	"bytes"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// knowing is a Responder with one key.
type knowing struct {
	mine    Key
	mtu     uint8
	peers   []Key
	reports []Report
	peerMTU uint8
	items   int
	most    int // maximum number of admitted items; 0: unlimited
}

var errTooMany = errors.New("too many items")

func (k *knowing) Items(n int) error {
	if k.items += n; k.most > 0 && k.items > k.most {
		return errTooMany
	}
	return nil
}

func (k *knowing) MTU() uint8                { return k.mtu }
func (k *knowing) PeerMTU(e uint8) error     { k.peerMTU = e; return nil }
func (k *knowing) Key(peer Key) (Key, error) { k.peers = append(k.peers, peer); return k.mine, nil }
func (k *knowing) PeerReport(r Report)       { k.reports = append(k.reports, r) }

// Without knowing the test, Answer writes what the real server wrote, except the report.
func TestAnswerWritesWhatTheRealServerWrote(t *testing.T) {
	for _, c := range captures {
		client, server := golden(t, c.file+".client"), golden(t, c.file+".server")
		conn := &replay{peer: bytes.NewReader(client), role: exchange.Server}
		k := &knowing{mine: c.server, mtu: c.mtu}
		err := Answer(&Lines{Conn: conn, R: bufio.NewReader(conn), ItemTime: time.Second}, k)
		closes := c.complete && !c.test.Latency()
		if closes && err != nil || !closes && !errors.Is(err, exchange.ErrPeerClosed) {
			t.Errorf("%s: %v", c.file, err)
		}
		got := conn.wrote.Bytes()
		if closes {
			report := len(server) - len(Done) - KeyLen - ReportFields*FieldLen
			copy(server[report:], make([]byte, ReportFields*FieldLen))
			if want := recordedReport(t, client); len(k.reports) != 1 || k.reports[0] != want {
				t.Errorf("%s: reports %+v, want %+v", c.file, k.reports, want)
			}
		}
		// For a test that does not end, the recording lacks the answers to the last items.
		if n := min(len(got), len(server)); !bytes.Equal(got[:n], server[:n]) || n < len(server) {
			t.Errorf("%s: wrote\n%q\nthe tool wrote\n%q", c.file, got, server)
		}
		for _, p := range k.peers {
			if p != c.client {
				t.Errorf("%s: a key is %+v, want %+v", c.file, p, c.client)
			}
		}
		if k.peerMTU != c.mtu {
			t.Errorf("%s: path MTU %d, want %d", c.file, k.peerMTU, c.mtu)
		}
	}
}

// No test comes close to the maximum number of items of a session.
func TestNoTestHasAsManyItemsAsAreTooMany(t *testing.T) {
	for _, test := range Tests {
		for _, qps := range []int{1, 2, 64} {
			for _, p := range []Params{
				{Sizes: []uint64{8}}, {Sizes: AllSizes(), All: true},
				{Sizes: AllSizes(), All: true, Bidirectional: true},
				{Sizes: AllSizes(), All: true, Bidirectional: true, Immediate: true},
				{Sizes: []uint64{8}, Duration: true, Bidirectional: true},
			} {
				p.QPs, p.Role = qps, exchange.Client
				items := 0
				for _, s := range whole(test, p) {
					switch {
					case s.Kind == ReportItem:
						items += ReportFields
					case s.Kind == CloseItem:
						items += 2 // a key and "done"
					case s.Kind.Wire():
						items++
					}
				}
				if most := MaxItems(qps); items*4 > most*3 {
					t.Errorf("%v %+v has %d items, and %d are too many", test, p, items, most)
				}
			}
		}
	}
}

// Each field of a report is an item, and no part of an item that is not admitted is answered.
func TestAnswerReadsNoMoreItemsThanAreAdmitted(t *testing.T) {
	client := golden(t, "ib_write_bw.client")
	conn := &replay{peer: bytes.NewReader(client), role: exchange.Server}
	all := &knowing{mine: Key{QPN: 9}, mtu: 5}
	if err := Answer(&Lines{Conn: conn, R: bufio.NewReader(conn), ItemTime: time.Second}, all); err != nil {
		t.Fatal(err)
	}
	if want := 4 + 2 + 1 + 1 + ReportFields + 1 + 1; all.items < want-2 || all.items > want+2 {
		t.Errorf("%d items are counted, want about %d", all.items, want)
	}
	for most := 1; most < all.items; most++ {
		conn := &replay{peer: bytes.NewReader(client), role: exchange.Server}
		k := &knowing{mine: Key{QPN: 9}, mtu: 5, most: most}
		if err := Answer(&Lines{Conn: conn, R: bufio.NewReader(conn), ItemTime: time.Second}, k); !errors.Is(err,
			errTooMany) {
			t.Errorf("with %d of %d items: %v", most, all.items, err)
		}
	}
}

// Answer serves a client of every test to its end.
func TestAnswerServesEveryTest(t *testing.T) {
	for _, test := range Tests {
		for _, p := range []Params{
			{QPs: 1, Sizes: []uint64{8}}, {QPs: 3, Sizes: []uint64{8}}, {QPs: 1, Sizes: AllSizes(), All: true},
			{QPs: 1, Sizes: []uint64{8}, Bidirectional: true},
		} {
			if test.Latency() && (p.QPs > 1 || p.Bidirectional) {
				continue
			}
			synctest.Test(t, func(t *testing.T) {
				p.Role = exchange.Client
				a, b := net.Pipe()
				k := &knowing{mine: Key{QPN: 9}, mtu: 5}
				over := make(chan error)
				go func() {
					err := Answer(&Lines{Conn: b, R: bufio.NewReader(b), ItemTime: time.Second}, k)
					b.Close()
					over <- err
				}()
				end := &fixed{cycle: 4096, line: 64, mtu: 3, keys: []Key{{QPN: 1}, {QPN: 2}, {QPN: 3}},
					reports: []Report{{Size: 8}}}
				// Each key is answered with the same key here, which the client must accept.
				if err := Drive(a, exchange.Client, whole(test, p), end); err != nil {
					t.Errorf("%v %+v: %v", test, p, err)
				}
				a.Close()
				if err := <-over; err != nil && !errors.Is(err, exchange.ErrPeerClosed) {
					t.Errorf("%v %+v: Answer = %v", test, p, err)
				}
			})
		}
	}
}

func FuzzAnswer(f *testing.F) {
	for _, c := range captures {
		f.Add(golden(f, c.file+".client"))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		conn := &replay{peer: bytes.NewReader(b), role: exchange.Server}
		k := &knowing{mtu: 3}
		if err := Answer(&Lines{Conn: conn, R: bufio.NewReader(conn), ItemTime: time.Second}, k); err == nil &&
			!bytes.Contains(b, []byte(Done)) {
			t.Error("it is done without being told so")
		}
		if n := conn.wrote.Len(); n > len(b) {
			t.Errorf("%d bytes are answered with %d", len(b), n)
		}
	})
}
