package region

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/gorxe/gorxe/internal/quota"
	"github.com/gorxe/gorxe/internal/rawcm"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/fault"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// world is a network in memory with a server at 192.0.2.1.
type world struct {
	*testing.T
	net    *pipe.Net
	fault  fault.Config
	dev    *verbs.Device // of the server
	server *Server
	at     netip.AddrPort
}

func newWorld(t *testing.T, o Options, f fault.Config) *world {
	t.Helper()
	w := &world{T: t, net: pipe.NewNet(), fault: f, at: netip.MustParseAddrPort("192.0.2.1:7175")}
	w.dev = w.device("192.0.2.1")
	w.server = NewServer(w.dev, o)
	l, err := w.dev.Listen(verbs.PortSpaceTCP, netip.AddrPortFrom(netip.Addr{}, Port), 0)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(context.Background(), l) }()
	t.Cleanup(func() {
		if err := errors.Join(l.Close(), <-served, w.server.Close(context.Background()), w.dev.Close()); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) link(addr string) packet.Link {
	w.Helper()
	l, err := w.net.Open(netip.MustParseAddr(addr), 1500)
	if err != nil {
		w.Fatal(err)
	}
	if w.fault != (fault.Config{}) {
		w.fault.Seed++
		l = fault.New(l, w.fault)
	}
	return l
}

// device returns a device that the test closes.
func (w *world) device(addr string) *verbs.Device {
	w.Helper()
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{w.link(addr)}})
	if err != nil {
		w.Fatal(err)
	}
	return d
}

// client returns a device that is closed at the end of the test.
func (w *world) client(addr string) *verbs.Device {
	d := w.device(addr)
	w.Cleanup(func() {
		if err := d.Close(); err != nil {
			w.Error(err)
		}
	})
	return d
}

func (w *world) export(e Export) {
	w.Helper()
	if e.Kind == "" {
		e.Kind = "anonymous"
	}
	if err := w.server.Export(e); err != nil {
		w.Fatal(err)
	}
}

func (w *world) dial(d *verbs.Device, name string) *Conn {
	w.Helper()
	c, err := Dial(w.Context(), d, w.at, name)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(c.Close)
	return c
}

func (w *world) read(c *Conn, off, n uint64) []byte {
	w.Helper()
	var b bytes.Buffer
	if err := c.Read(w.Context(), &b, off, n); err != nil {
		w.Fatal(err)
	}
	return b.Bytes()
}

// do posts one request as a client that ignores its limits would, and returns the status.
func (c *Conn) do(t *testing.T, wr *verbs.SendWR) verbs.WCStatus {
	t.Helper()
	wr.Flags |= verbs.Signaled
	var wc [1]verbs.WC
	if err := c.qp.PostSend(wr); err != nil {
		t.Fatal(err)
	}
	if _, err := c.cq.Wait(t.Context(), wc[:]); err != nil {
		t.Fatal(err)
	}
	return wc[0].Status
}

// raw returns a request of n bytes with the region's address and key.
func (c *Conn) raw(op verbs.WROpcode, n int) *verbs.SendWR {
	return &verbs.SendWR{Opcode: op, SGList: []verbs.SGE{c.mr.SGE(0, n)}, RemoteAddr: c.addr, RKey: c.rkey}
}

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{7})
	_, _ = r.Read(b)
	return b
}

const odd = pieces*pieceLen + 2*pieceLen + 5 // more than in flight at a time

func TestBytesArriveWhole(t *testing.T) {
	for name, f := range map[string]fault.Config{"clean": {}, "loss": {Seed: 7, Drop: 0.02},
		"disorder": {Seed: 7, Reorder: 0.1, Duplicate: 0.1}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, Options{}, f)
				memory := make([]byte, odd)
				w.export(Export{Name: "m", Memory: mr.Bytes(memory), Access: Read | Write})
				c := w.dial(w.client("192.0.2.2"), "m")
				if c.Len() != odd || c.Access() != Read|Write {
					t.Fatalf("%d bytes, %v", c.Len(), c.Access())
				}
				want := noise(odd)
				for i, r := range []io.Reader{bytes.NewReader(want), iotest.HalfReader(bytes.NewReader(want)),
					iotest.DataErrReader(bytes.NewReader(want))} {
					clear(memory)
					if n, err := c.Write(t.Context(), r, 0); err != nil || n != odd {
						t.Fatalf("%d: %d bytes, %v", i, n, err)
					}
					if !bytes.Equal(w.read(c, 0, odd), want) {
						t.Errorf("%d: what comes back is something else", i)
					}
				}
				for _, p := range [][2]uint64{{0, 0}, {odd, 0}, {odd - 1, 1}, {3, 1}, {1, pieceLen},
					{pieceLen - 1, 2 * pieceLen}, {5, odd - 5}} {
					if !bytes.Equal(w.read(c, p[0], p[1]), want[p[0]:p[0]+p[1]]) {
						t.Errorf("%d bytes at %d are something else", p[1], p[0])
					}
				}
				if n, err := c.Write(t.Context(), strings.NewReader("0123"), odd-4); err != nil || n != 4 {
					t.Errorf("at the end: %d, %v", n, err)
				}
				if got := string(w.read(c, odd-5, 5)); got != string(want[odd-5])+"0123" {
					t.Errorf("the end is %q", got)
				}
			})
		})
	}
}

func TestWhatIsNotInTheRegionIsRefusedHere(t *testing.T) {
	w := newWorld(t, Options{}, fault.Config{})
	memory := make([]byte, 100)
	w.export(Export{Name: "m", Memory: mr.Bytes(memory), Access: Read | Write})
	w.export(Export{Name: "r", Memory: mr.Bytes(memory), Access: Read})
	w.export(Export{Name: "w", Memory: mr.Bytes(memory), Access: Write})
	d := w.client("192.0.2.2")
	c := w.dial(d, "m")
	for _, p := range [][2]uint64{{101, 0}, {100, 1}, {0, 101}, {1, 100}, {1, 1<<64 - 1}, {1<<64 - 1, 1}} {
		if err := c.Read(t.Context(), io.Discard, p[0], p[1]); !errors.Is(err, ErrBounds) {
			t.Errorf("read %d at %d: %v", p[1], p[0], err)
		}
	}
	if _, err := c.Write(t.Context(), strings.NewReader("x"), 101); !errors.Is(err, ErrBounds) {
		t.Errorf("write behind the end: %v", err)
	}
	n, err := c.Write(t.Context(), strings.NewReader("12345"), 96)
	if !errors.Is(err, ErrBounds) || n != 4 || string(memory[96:]) != "1234" {
		t.Errorf("write over the end: %d, %v, %q", n, err, memory[96:])
	}
	if n, err := c.Write(t.Context(), strings.NewReader(""), 100); err != nil || n != 0 {
		t.Errorf("nothing at the end: %d, %v", n, err)
	}
	// The connection is not affected.
	if got := string(w.read(c, 96, 4)); got != "1234" {
		t.Errorf("%q", got)
	}
	if _, err := w.dial(d, "r").Write(t.Context(), strings.NewReader("x"), 0); !errors.Is(err, ErrAccess) {
		t.Errorf("write: %v", err)
	}
	if err := w.dial(d, "w").Read(t.Context(), io.Discard, 0, 1); !errors.Is(err, ErrAccess) {
		t.Errorf("read: %v", err)
	}
}

// If a client ignores its own checks, those of the server apply.
func TestTheServerKeepsToMaskAndBounds(t *testing.T) {
	w := newWorld(t, Options{MaxPerPeer: DefaultMaxConns}, fault.Config{})
	memory, secret := make([]byte, 64), bytes.Repeat([]byte{0x5a}, 64)
	rights := map[string]Access{"r": Read, "w": Write, "rw": Read | Write, "a": Atomic, "all": allAccess}
	for name, a := range rights {
		w.export(Export{Name: name, Memory: mr.Bytes(memory), Access: a})
	}
	w.export(Export{Name: "secret", Memory: mr.Bytes(secret), Access: allAccess})
	d := w.client("192.0.2.2")
	other := w.dial(d, "secret")
	needs := map[verbs.WROpcode]Access{verbs.WRRead: Read, verbs.WRWrite: Write, verbs.WRFetchAdd: Atomic,
		verbs.WRCmpSwap: Atomic, verbs.WRAtomicWrite: Write}
	for name, have := range rights {
		for op, need := range needs {
			t.Run(fmt.Sprintf("%v on %v", op, have), func(t *testing.T) {
				got := w.dial(d, name)
				want := verbs.WCSuccess
				if have&need == 0 {
					want = verbs.WCRemInvReqErr
				}
				if s := got.do(t, got.raw(op, 8)); s != want {
					t.Errorf("it ended with %v, want %v", s, want)
				}
				if want != verbs.WCSuccess {
					return
				}
				for what, spoil := range map[string]func(c *Conn, wr *verbs.SendWR){
					"before the first byte": func(_ *Conn, wr *verbs.SendWR) { wr.RemoteAddr -= 8 },
					"behind the last byte":  func(_ *Conn, wr *verbs.SendWR) { wr.RemoteAddr += 64 },
					"another key":           func(_ *Conn, wr *verbs.SendWR) { wr.RKey++ },
					"the key of another region": func(_ *Conn, wr *verbs.SendWR) {
						wr.RKey, wr.RemoteAddr = other.rkey, other.addr
					},
				} {
					c := w.dial(d, name)
					wr := c.raw(op, 8)
					spoil(c, wr)
					if s := c.do(t, wr); s != verbs.WCRemAccessErr {
						t.Errorf("%s: it ended with %v, want %v", what, s, verbs.WCRemAccessErr)
					}
				}
			})
		}
	}
	if !bytes.Equal(secret, bytes.Repeat([]byte{0x5a}, 64)) || bytes.Contains(memory, []byte{0x5a}) {
		t.Error("bytes have moved between regions")
	}
}

func TestAClientCanSayNothingButOneSided(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 64)), Access: allAccess})
		c := w.dial(w.client("192.0.2.2"), "m")
		if s := c.do(t, c.raw(verbs.WRSend, 8)); s != verbs.WCRNRRetryExcErr {
			t.Errorf("a SEND ended with %v", s)
		}
	})
}

func TestOnlyThoseOnTheListGetAnything(t *testing.T) {
	w := newWorld(t, Options{}, fault.Config{})
	only := func(p string) []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix(p)} }
	w.export(Export{Name: "two", Memory: mr.Bytes(make([]byte, 8)), Access: Read, Peers: only("192.0.2.2/32")})
	w.export(Export{Name: "net", Memory: mr.Bytes(make([]byte, 9)), Access: Read | Write, Peers: only("192.0.2.0/24")})
	friend, neighbour, stranger := w.client("192.0.2.2"), w.client("192.0.2.3"), w.client("198.51.100.1")
	for _, c := range []struct {
		dev  *verbs.Device
		sees string
	}{{friend, "net two "}, {neighbour, "net "}, {stranger, ""}} {
		d, err := List(t.Context(), c.dev, w.at)
		if err != nil {
			t.Fatal(err)
		}
		sees := ""
		for _, e := range d.Regions {
			sees += e.Name + " "
		}
		if sees != c.sees {
			t.Errorf("%q sees %q", c.sees, sees)
		}
		for _, name := range []string{"net", "two", "none"} {
			got, err := Dial(t.Context(), c.dev, w.at, name)
			if err == nil {
				got.Close()
			}
			if allowed := strings.Contains(c.sees, name); allowed != (err == nil) || !allowed &&
				err.Error() != "region "+name+": "+ErrNoRegion.Error() {
				t.Errorf("%q asks for %s: %v", c.sees, name, err)
			}
		}
	}
	if c := w.server.Counts(); c.NoRegion != 3 || c.NotAllowed != 4 ||
		c.BadRequests+c.BusyAll+c.BusyPeer+c.Failed != 0 {
		t.Errorf("%+v", c)
	}
}

// The address in a request is a claim of the peer: requests that claim another host's address are
// ignored.
func TestAListIsOfThoseWhoSendNotOfThoseWhoAreNamed(t *testing.T) {
	w := newWorld(t, Options{}, fault.Config{})
	w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read,
		Peers: []netip.Prefix{netip.MustParsePrefix("192.0.2.2/32")}})
	liar, err := w.net.Open(netip.MustParseAddr("192.0.2.66"), 1500)
	if err != nil {
		t.Fatal(err)
	}
	d, err := verbs.Open(verbs.Config{Links: []packet.Link{liesOf{liar}}})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	var rej *verbs.RejectError
	if _, err := Dial(t.Context(), d, w.at, "m"); !errors.As(err, &rej) {
		t.Errorf("it got %v", err)
	}
	if c := w.server.Counts(); c != (Counts{}) {
		t.Errorf("the server heard of it: %+v", c)
	}
}

func TestARegionThatIsExportedAnewHasAnotherKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		first, second := bytes.Repeat([]byte{1}, 64), bytes.Repeat([]byte{2}, 64)
		w.export(Export{Name: "m", Memory: mr.Bytes(first), Access: allAccess})
		w.export(Export{Name: "other", Memory: mr.Bytes(make([]byte, 8)), Access: allAccess})
		d := w.client("192.0.2.2")
		old, other := w.dial(d, "m"), w.dial(d, "other")
		w.export(Export{Name: "m", Memory: mr.Bytes(second), Access: allAccess})
		if err := old.Read(t.Context(), io.Discard, 0, 1); err == nil {
			t.Error("the connection to the old one goes on")
		}
		<-old.conn.Done()
		if err := old.Read(t.Context(), io.Discard, 0, 1); err == nil {
			t.Error("the connection to the old one goes on after its end")
		}
		anew := w.dial(d, "m")
		if anew.rkey == old.rkey {
			t.Error("the key is the same")
		}
		if got := w.read(anew, 0, 64); !bytes.Equal(got, second) {
			t.Errorf("it has % x", got)
		}
		wr := anew.raw(verbs.WRWrite, 8)
		wr.RKey, wr.RemoteAddr = old.rkey, old.addr
		if s := anew.do(t, wr); s != verbs.WCRemAccessErr {
			t.Errorf("the old key: %v", s)
		}
		if !bytes.Equal(first, bytes.Repeat([]byte{1}, 64)) {
			t.Error("the old memory has changed")
		}
		w.read(other, 0, 8)
	})
}

func TestAnUnexportedRegionIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read | Write})
		d := w.client("192.0.2.2")
		c := w.dial(d, "m")
		// A write that waits for its source also ends.
		r, _ := io.Pipe()
		ended := make(chan error, 1)
		go func() {
			_, err := c.Write(t.Context(), r, 0)
			ended <- err
		}()
		synctest.Wait()
		if err := w.server.Unexport("m"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; !errors.Is(err, ErrEnded) {
			t.Errorf("write: %v", err)
		}
		r.Close()
		if _, err := Dial(t.Context(), d, w.at, "m"); !errors.Is(err, ErrNoRegion) {
			t.Errorf("dial: %v", err)
		}
		if err := w.server.Unexport("m"); !errors.Is(err, ErrNoRegion) {
			t.Errorf("again: %v", err)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MaxConns: 3, MaxPerPeer: 2}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
		a, b := w.client("192.0.2.2"), w.client("192.0.2.3")
		first := w.dial(a, "m")
		w.dial(a, "m")
		synctest.Wait() // the server has received their RTUs
		if _, err := Dial(t.Context(), a, w.at, "m"); !errors.Is(err, ErrBusy) {
			t.Errorf("the third of one host: %v", err)
		}
		if _, err := List(t.Context(), a, w.at); !errors.Is(err, ErrBusy) {
			t.Errorf("the directory: %v", err)
		}
		w.dial(b, "m")
		synctest.Wait()
		if _, err := Dial(t.Context(), b, w.at, "m"); !errors.Is(err, ErrBusy) {
			t.Errorf("the fourth of all: %v", err)
		}
		synctest.Wait()
		if c := w.server.Counts(); c.BusyPeer != 2 || c.BusyAll != 1 || c.Accepted != 3 {
			t.Errorf("%+v", c)
		}
		first.Close()
		synctest.Wait()
		w.dial(b, "m")
		if r := w.server.Regions(); len(r) != 1 || r[0].Conns != 3 {
			t.Errorf("%+v", r)
		}
	})
}

// A rejection goes to the source address of the request, which may be forged.
func TestOnlySoManyRequestsAreAnsweredByARefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{}, fault.Config{})
		attacker := rawcm.New(w.link("192.0.2.66"), w.at.Addr())
		id := uint32(0)
		ask := func(requests int) {
			for range requests {
				id++
				m := attacker.REQ(id, Port)
				m.REQ.PrivateData = append(m.REQ.PrivateData, request("none")...)
				if err := errors.Join(attacker.Put(m), attacker.Flush()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
			}
		}
		counts := func() (refused, ignored uint64) {
			c := w.server.dev.Counters()
			return c["cm_tx_msgs_rej"], c["cm_ignored"]
		}
		burst := quota.Answers().Burst
		ask(burst + 20)
		if refused, ignored := counts(); refused != uint64(burst) || ignored != 20 {
			t.Errorf("%d requests are refused and %d ignored, want %d and 20", refused, ignored, burst)
		}
		time.Sleep(5 * quota.Answers().Interval)
		ask(20)
		if refused, ignored := counts(); refused != uint64(burst)+5 || ignored != 35 {
			t.Errorf("%d requests are refused and %d ignored, want %d and 35", refused, ignored, burst+5)
		}
	})
}

// Requests with the address of a host that never sent them take its places, and yield them to its
// own requests.
func TestForgedRequestsUnderAnAddressDoNotKeepItsOwnerOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{MaxConns: 9, MaxPerPeer: 8}, fault.Config{})
		w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
		const victim = "192.0.2.66"
		link := w.link(victim)
		attacker := rawcm.New(link, w.at.Addr())
		for i := range uint32(9) {
			m := attacker.REQ(i+1, Port)
			m.REQ.MaxCMRetries, m.REQ.LocalCMResponseTimeout = 15, 31
			m.REQ.PrivateData = append(m.REQ.PrivateData, request("m")...)
			if err := errors.Join(attacker.Put(m), attacker.Flush()); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if c := w.server.Counts(); c.BusyPeer != 1 || w.server.Regions()[0].Conns != 8 {
			t.Fatalf("%+v", c)
		}
		if err := link.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(quota.Grace)
		d := w.client(victim)
		for range 3 {
			w.dial(d, "m")
		}
		synctest.Wait()
		if c := w.server.Counts(); c.BusyPeer != 1 || c.Accepted != 3 || c.Unanswered != 3 {
			t.Errorf("%+v", c)
		}
	})
}

func TestWhoDoesNotSpeakItIsRefused(t *testing.T) {
	w := newWorld(t, Options{}, fault.Config{})
	w.export(Export{Name: "m", Memory: mr.Bytes(make([]byte, 8)), Access: Read})
	d := w.client("192.0.2.2")
	for _, private := range [][]byte{nil, []byte("rping"), append([]byte("gxrg\x02"), make([]byte, 51)...)} {
		c := &Conn{buf: make([]byte, 1)}
		if err := c.open(t.Context(), d, w.at, private); !errors.Is(err, ErrBadRequest) {
			t.Errorf("%q: %v", private, err)
		}
		c.Close()
	}
	if c := w.server.Counts(); c.BadRequests != 3 || c.Accepted != 0 {
		t.Errorf("%+v", c)
	}
	var rej *verbs.RejectError
	if _, err := Dial(t.Context(), d, netip.AddrPortFrom(w.at.Addr(), 1), "m"); !errors.As(err, &rej) ||
		!strings.Contains(err.Error(), "no listener") {
		t.Errorf("a port that nobody has: %v", err)
	}
}

func TestWhatCannotBeExported(t *testing.T) {
	w := newWorld(t, Options{}, fault.Config{})
	memory := mr.Bytes(make([]byte, 8))
	for name, e := range map[string]Export{
		"no name":             {Kind: "k", Memory: memory, Access: Read},
		"a kind of two words": {Name: "m", Kind: "k k", Memory: memory, Access: Read},
		"no right":            {Name: "m", Kind: "k", Memory: memory},
		"a right that is not": {Name: "m", Kind: "k", Memory: memory, Access: 8},
		"no memory":           {Name: "m", Kind: "k", Access: Read},
	} {
		if err := w.server.Export(e); err == nil {
			t.Errorf("%s: it is exported", name)
		}
	}
	if r := w.server.Regions(); len(r) != 0 {
		t.Errorf("%+v", r)
	}
}

// liesOf is a link whose host claims in its requests to be 192.0.2.2.
type liesOf struct{ packet.Link }

func (l liesOf) Prepare(b *packet.Batch) {
	honest := append(make([]byte, 12), l.Local().AsSlice()...)
	for i := range b.Len() {
		for _, p := range b.At(i).Payload {
			if at := bytes.Index(p, honest); at >= 0 {
				copy(p[at+12:], netip.MustParseAddr("192.0.2.2").AsSlice())
			}
		}
	}
	l.Link.Prepare(b)
}
