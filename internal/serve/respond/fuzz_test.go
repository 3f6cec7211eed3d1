package respond

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/serve/exchange/perftest"
	"github.com/gorxe/gorxe/internal/serve/exchange/pingpong"
)

// fuzzLimits are low, so that a client reaches them.
var fuzzLimits = Limits{Sessions: 2, PerPeer: 1, QPs: 3, Memory: 1 << 12, TotalMemory: 1 << 13}

// Acts of a hostile client: the first byte of an act selects one, the next bytes are its
// parameters.
const (
	saysRaw      = iota // the next byte is the length
	saysVersion         // contents follow
	saysWord            // contents follow
	saysMTU             // contents follow
	saysKey             // contents follow
	saysReport          // five fields
	saysDone            // of perftest
	saysDest            // of a pingpong
	saysParted          // last message of a pingpong
	saysNothing         // silence for seconds
	saysFragment        // a key, part of which arrives after seconds
	acts
)

// hostile is a client controlled by a fuzzer.
type hostile struct {
	conn net.Conn
	data []byte
	gone bool
}

// next returns the next byte of the input.
func (h *hostile) next() byte {
	if len(h.data) == 0 {
		return 0
	}
	b := h.data[0]
	h.data = h.data[1:]
	return b
}

// take returns the next n bytes, or the rest.
func (h *hostile) take(n int) []byte {
	n = min(n, len(h.data))
	b := h.data[:n]
	h.data = h.data[n:]
	return b
}

func (h *hostile) write(b []byte) {
	if _, err := h.conn.Write(b); err != nil {
		h.gone = true
	}
}

// gid returns an address of the client, of a third host or an invalid one.
func (h *hostile) gid() [16]byte {
	all := []string{"192.0.2.2", "192.0.2.2", "192.0.2.2", "192.0.2.3", deviceAddr, "255.255.255.255", "::",
		"2001:db8::1", "ff02::1"}
	return gid(all[int(h.next())%len(all)])
}

// act executes one act.
func (h *hostile) act() {
	switch h.next() % acts {
	case saysRaw:
		h.write(h.take(1 + int(h.next())))
	case saysVersion:
		versions := []perftest.Version{"5.98", "6.06", "6.28", "5.10", "0.00"}
		h.write(perftest.AppendVersion(nil, versions[int(h.next())%len(versions)]))
	case saysWord:
		h.write(perftest.AppendWord(nil, uint32(h.next())<<14|uint32(h.next())))
	case saysMTU:
		h.write(perftest.AppendMTU(nil, h.next()%7))
	case saysKey:
		h.write(h.key())
	case saysReport:
		var r perftest.Report
		for i := range perftest.ReportFields {
			h.write(r.AppendField(nil, i))
		}
	case saysDone, saysParted:
		h.write([]byte(perftest.Done))
	case saysDest:
		d := pingpong.Dest{QPN: uint32(h.next()), PSN: uint32(h.next()) << 16, GID: h.gid()}
		h.write(d.Append(nil))
	case saysNothing:
		time.Sleep(time.Duration(h.next()%16) * time.Second)
	case saysFragment:
		k := h.key()
		n := int(h.next()) % len(k)
		h.write(k[:n])
		time.Sleep(time.Duration(h.next()%8) * time.Second)
		h.write(k[n:])
	}
}

func (h *hostile) key() []byte {
	k := perftest.Key{
		OutReads: uint16(h.next()), QPN: uint32(h.next()), PSN: uint32(h.next()) << 16, RKey: uint32(h.next()),
		VAddr: uint64(h.next()), GID: h.gid(),
	}
	return k.Append(nil)
}

// FuzzSession runs an arbitrary client: its session must end, leave nothing behind, observe its
// limits, and not make the device send to any host.
func FuzzSession(f *testing.F) {
	files, err := filepath.Glob("../exchange/perftest/testdata/*.client")
	if err != nil || len(files) == 0 {
		f.Fatal("no recordings of clients: ", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		var raw []byte // as acts
		for len(b) > 0 {
			n := min(len(b), 256)
			raw = append(append(raw, saysRaw, byte(n-1)), b[:n]...)
			b = b[n:]
		}
		f.Add(true, raw)
	}
	key := func(qpn, gid byte) []byte { return []byte{saysKey, 1, qpn, 0, 0, 0, gid} }
	opening := []byte{saysVersion, 0, saysWord, 0, 64, saysWord, 0, 64, saysMTU, 3}
	for _, acts := range [][]byte{
		append(append(append([]byte{}, opening...), key(1, 0)...), saysDone),
		append(append(append(append([]byte{}, opening...), key(1, 0)...), key(2, 0)...),
			append(key(3, 0), key(4, 0)...)...),
		append(append([]byte{}, opening...), key(1, 3)...),
		append(append([]byte{}, opening...), saysFragment, 1, 1, 0, 0, 0, 0, 60, 7),
		{saysDest, 1, 0, 0, saysParted}, {saysDest, 1, 0, 3}, {saysDest, 1, 0, 0, saysDest, 2, 0, 0, saysNothing, 15},
	} {
		f.Add(true, acts)
		f.Add(false, acts)
	}
	f.Fuzz(func(t *testing.T, reads bool, data []byte) {
		if len(data) > 1<<13 {
			return
		}
		counted, logged := responding(t, fuzzLimits, both, func(r *rig) {
			conn := r.call("192.0.2.2", deviceAddr)
			drained := make(chan struct{})
			go func() {
				defer close(drained)
				if reads {
					io.Copy(io.Discard, conn)
				}
			}()
			for h := (&hostile{conn: conn, data: data}); len(h.data) > 0 && !h.gone; {
				h.act()
				r.within(fuzzLimits)
			}
			conn.Close()
			<-drained
			r.mu.Lock()
			defer r.mu.Unlock()
			if len(r.sent) > 0 {
				r.Errorf("packets are sent: %v", r.sent)
			}
		})
		ended := uint64(0)
		for name, n := range counted {
			if !strings.HasPrefix(name, "respond_sessions_") && !strings.HasPrefix(name, "respond_checked_") {
				ended += n
			}
		}
		if ended != 1 {
			t.Errorf("one session has ended %d times: %v\n%s", ended, counted, logged)
		}
	})
}

// within fails the test if sessions exceed their limits.
func (r *rig) within(l Limits) {
	qps := 0
	for range r.dev.QPs() {
		qps++
	}
	if n := r.r.memory.inUse(); qps > l.QPs || n > l.TotalMemory {
		r.Errorf("%d queue pairs, %d bytes", qps, n)
	}
}
