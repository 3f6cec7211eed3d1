package pingpong

import (
	"bytes"
	"errors"
	"net"
	"os"
	"slices"
	"testing"

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

func gid4(a, b, c, d byte) [16]byte { return [16]byte{10: 0xff, 11: 0xff, 12: a, 13: b, 14: c, 15: d} }

func TestDestIsWhatRealToolsSay(t *testing.T) {
	for _, tt := range []struct {
		file string
		want Dest
	}{
		{"rc_pingpong_8k.client", Dest{QPN: 0x12, PSN: 0x89e82e, GID: gid4(198, 18, 0, 2)}},
		{"rc_pingpong_8k.server", Dest{QPN: 0x12, PSN: 0xf1c6f9, GID: gid4(198, 18, 0, 3)}},
		{"uc_pingpong.client", Dest{QPN: 0x13, PSN: 0x4c2884, GID: gid4(198, 18, 0, 2)}},
		{"uc_pingpong.server", Dest{QPN: 0x13, PSN: 0x35e090, GID: gid4(198, 18, 0, 3)}},
	} {
		b := golden(t, tt.file)
		var d Dest
		if err := d.Decode(b[:Len]); err != nil {
			t.Fatalf("%s: %v", tt.file, err)
		}
		if diff := cmp.Diff(tt.want, d); diff != "" {
			t.Errorf("%s: %s", tt.file, diff)
		}
		if got := d.Append(nil); !bytes.Equal(got, b[:Len]) {
			t.Errorf("%s: Append gives %q, the tool wrote %q", tt.file, got, b[:Len])
		}
	}
	if rest := golden(t, "rc_pingpong_8k.client")[Len:]; string(rest) != Done {
		t.Errorf("the client ends with %q, want %q", rest, Done)
	}
	if rest := golden(t, "rc_pingpong_8k.server")[Len:]; len(rest) != 0 {
		t.Errorf("the server says %q after its address, want nothing", rest)
	}
}

func TestDestRefusesWhatNoToolWrites(t *testing.T) {
	good := string((&Dest{QPN: 1}).Append(nil))
	for name, text := range map[string]string{
		"short":             good[:Len-1],
		"long":              good + "\x00",
		"no NUL":            good[:Len-1] + "0",
		"sign in a number":  "+001" + good[4:],
		"underscore":        "0_01" + good[4:],
		"separator missing": good[:4] + "0" + good[5:],
		"GID not hex":       good[:19] + "zz" + good[21:],
		"a perftest key":    "0000:0001:000019:30f144:00000aaf:000055e906008711:00",
	} {
		var d Dest
		var de *DecodeError
		if err := d.Decode([]byte(text)); !errors.As(err, &de) {
			t.Errorf("%s: got %v, want a *DecodeError", name, err)
		}
	}
}

func FuzzDest(f *testing.F) {
	f.Add([]byte("0000:000012:89e82e:00000000000000000000ffffc6120002\x00"))
	f.Add([]byte("FFFF:ffffff:000000:FE800000000000000000000000000001\x00"))
	f.Add([]byte("+000:000012:89e82e:00000000000000000000ffffc6120002\x00"))
	f.Add([]byte("done\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var d, again Dest
		if d.Decode(b) != nil {
			return
		}
		w := d.Append(nil)
		if !bytes.EqualFold(w, b) {
			t.Fatalf("%q decodes to %+v, which is written as %q", b, d, w)
		}
		if err := again.Decode(w); err != nil || again != d {
			t.Fatalf("%+v is written as %q, which decodes to %+v (%v)", d, w, again, err)
		}
	})
}

// recorder is a connection that records what is written to it.
type recorder struct {
	net.Conn
	wrote bytes.Buffer
}

func (r *recorder) Write(b []byte) (int, error) { r.wrote.Write(b); return r.Conn.Write(b) }

func TestBothEndsSayWhatTheCaptureShows(t *testing.T) {
	a, b := net.Pipe()
	client, server := &recorder{Conn: a}, &recorder{Conn: b}
	cl := Dest{QPN: 0x12, PSN: 0x89e82e, GID: gid4(198, 18, 0, 2)}
	sv := Dest{QPN: 0x12, PSN: 0xf1c6f9, GID: gid4(198, 18, 0, 3)}
	type result struct {
		remote []Dest
		err    error
	}
	done := make(chan result)
	serverReady := false
	go func() {
		r, err := Drive(server, exchange.Server, []Dest{sv}, func([]Dest) error { serverReady = true; return nil })
		done <- result{r, err}
	}()
	remote, err := Drive(client, exchange.Client, []Dest{cl}, func([]Dest) error {
		if !serverReady {
			return errors.New("the client connects before the server is ready to receive")
		}
		return nil
	})
	if err != nil || !slices.Equal(remote, []Dest{sv}) {
		t.Errorf("client: learnt %+v, %v", remote, err)
	}
	if r := <-done; r.err != nil || !slices.Equal(r.remote, []Dest{cl}) {
		t.Errorf("server: learnt %+v, %v", r.remote, r.err)
	}
	if want := golden(t, "rc_pingpong_8k.client"); !bytes.Equal(client.wrote.Bytes(), want) {
		t.Errorf("client wrote %q, the tool %q", client.wrote.Bytes(), want)
	}
	if want := golden(t, "rc_pingpong_8k.server"); !bytes.Equal(server.wrote.Bytes(), want) {
		t.Errorf("server wrote %q, the tool %q", server.wrote.Bytes(), want)
	}
}

func TestDriveSaysWhatWentWrong(t *testing.T) {
	refuse := errors.New("refused")
	for _, tt := range []struct {
		name    string
		role    exchange.Role
		peer    string
		connect error
		want    error
	}{
		{"peer closes at once", exchange.Server, "", nil, exchange.ErrPeerClosed},
		{"peer closes in the middle", exchange.Server, "0000:0000", nil, exchange.ErrPeerClosed},
		{"connect fails", exchange.Server, string((&Dest{}).Append(nil)), refuse, refuse},
	} {
		a, b := net.Pipe()
		go func() { b.Write([]byte(tt.peer)); b.Close() }()
		if _, err := Drive(a, tt.role, []Dest{{}}, func([]Dest) error { return tt.connect }); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
		a.Close()
	}
}

// ibv_srq_pingpong exchanges 256 addresses in each direction; those without a queue pair are 0.
func TestManyAddressesGoOneByOne(t *testing.T) {
	local := func(base uint32) []Dest {
		d := make([]Dest, SRQRecords)
		for i := range 16 {
			d[i] = Dest{QPN: base + uint32(i), PSN: base, GID: gid4(198, 18, 0, byte(base))}
		}
		return d
	}
	a, b := net.Pipe()
	learnt := make(chan []Dest, 1)
	go func() {
		r, err := Drive(a, exchange.Server, local(3), func([]Dest) error { return nil })
		if err != nil {
			t.Error(err)
		}
		learnt <- r
	}()
	r, err := Drive(b, exchange.Client, local(2), func([]Dest) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(local(3), r); diff != "" {
		t.Error("client:", diff)
	}
	if diff := cmp.Diff(local(2), <-learnt); diff != "" {
		t.Error("server:", diff)
	}
}
