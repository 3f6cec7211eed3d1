package rings_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/rings"
	"github.com/gorxe/gorxe/qp"
)

func TestCompletionsAsTheProgramReadsThem(t *testing.T) {
	type f32 = map[int]uint32
	for name, c := range map[string]struct {
		wc   qp.WC
		want f32
	}{
		"WRITE": {qp.WC{WRID: 9, Opcode: qp.WCWrite, QPN: 0x11, ByteLen: 100}, f32{12: 1, 20: 100, 28: 0x11}},
		"error": {qp.WC{WRID: 9, Status: qp.WCRetryExcErr, VendorErr: 7, QPN: 0x11}, f32{8: 12, 16: 7, 28: 0x11}},
		"UD receive": {qp.WC{WRID: 9, Opcode: qp.WCRecv, QPN: 0x11, SrcQP: 0x22, ByteLen: 140, Flags: qp.GRH,
			SL: qp.SLIPv4},
			f32{12: 128, 20: 140, 28: 0x11, 32: 0x22, 36: 1, 44: qp.SLIPv4}},
		"immediate": {qp.WC{WRID: 9, Opcode: qp.WCRecvWriteImm, Imm: 0x01020304, Flags: qp.WithImm, Solicited: true},
			f32{12: 129, 24: host.Uint32([]byte{1, 2, 3, 4}), 36: 2}},
		"invalidated": {qp.WC{WRID: 9, Opcode: qp.WCRecv, Imm: 0x01020304, Flags: qp.WithInv},
			f32{12: 128, 24: 0x01020304, 36: 8}},
	} {
		r, p := newCompletionRing(t, 3, nil)
		want := host.AppendUint64(nil, 9)
		for at := 8; at < 48; at += 4 {
			want = host.AppendUint32(want, c.want[at])
		}
		want[46] = 1
		for i := range p.elem(0)[:64] {
			p.elem(0)[i] = 0xee
		}
		r.Push(&c.wc)
		if got, ok := p.poll(); !ok || !bytes.Equal(got, want) {
			t.Errorf("%s:\n got % x\nwant % x", name, got, want)
		}
	}
}

func TestCompletionRingOverflows(t *testing.T) {
	r, p := newCompletionRing(t, 3, nil)
	for id := range uint64(3) {
		r.Push(&qp.WC{WRID: id})
	}
	if r.Overflowed() || r.Len() != 3 || r.Depth() != 3 {
		t.Fatalf("overflowed %v, %d of %d", r.Overflowed(), r.Len(), r.Depth())
	}
	r.Arm(false)
	if !r.Push(&qp.WC{WRID: 3}) || !r.Overflowed() {
		t.Fatal("a completion that is lost is not told of")
	}
	for want := range uint64(3) {
		if wc, ok := p.poll(); !ok || host.Uint64(wc) != want {
			t.Fatalf("polled % x", wc)
		}
	}
	r.Push(&qp.WC{WRID: 4})
	if _, ok := p.poll(); ok || !r.Overflowed() {
		t.Error("after an overflow a completion is taken")
	}
}

func TestNotifications(t *testing.T) {
	plain, solicited, failed := qp.WC{}, qp.WC{Solicited: true}, qp.WC{Status: qp.WCLocLenErr}
	const all, only = false, true
	for name, c := range map[string]struct {
		arm    []bool // solicitedOnly
		push   []qp.WC
		notify []bool
	}{
		"not asked":                     {nil, []qp.WC{plain, solicited, failed}, []bool{false, false, false}},
		"the next, once":                {[]bool{all}, []qp.WC{plain, solicited}, []bool{true, false}},
		"solicited":                     {[]bool{only}, []qp.WC{plain, solicited, failed}, []bool{false, true, false}},
		"in error":                      {[]bool{only}, []qp.WC{plain, failed, solicited}, []bool{false, true, false}},
		"any replaces solicited":        {[]bool{only, all}, []qp.WC{plain}, []bool{true}},
		"solicited does not replace it": {[]bool{all, only}, []qp.WC{plain}, []bool{true}},
	} {
		r, _ := newCompletionRing(t, 8, nil)
		r.Push(&failed) // completions that are already there do not count
		for _, solicitedOnly := range c.arm {
			r.Arm(solicitedOnly)
		}
		for i := range c.push {
			if got := r.Push(&c.push[i]); got != c.notify[i] {
				t.Errorf("%s: completion %d notifies: %v", name, i, got)
			}
		}
	}
}

func TestResizeKeepsWhatWasNotPolled(t *testing.T) {
	var p program
	r, p0 := newCompletionRing(t, 7, buffers(&p))
	p = p0
	pushed, polled := uint64(0), uint64(0)
	push := func(n int) {
		for range n {
			r.Push(&qp.WC{WRID: pushed})
			pushed++
		}
	}
	poll := func(n int) {
		t.Helper()
		for range n {
			if wc, ok := p.poll(); !ok || host.Uint64(wc) != polled {
				t.Fatalf("polled % x, want %d", wc, polled)
			}
			polled++
		}
	}
	for _, c := range []struct{ push, poll, depth, want int }{
		{6, 6, 7, 7}, {5, 0, 5, 7}, {0, 1, 100, 127}, {100, 50, 60, 63}, {9, 62, 1, 1}, {0, 1, 3, 3},
	} {
		push(c.push)
		poll(c.poll)
		if err := r.Resize(c.depth); err != nil || r.Depth() != c.want || r.Len() != int(pushed-polled) {
			t.Fatalf("depth %d: %v, %d of %d", c.depth, err, r.Len(), r.Depth())
		}
	}
	push(3)
	if r.Overflowed() {
		t.Error("overflow before it is full")
	}
	for says, depth := range map[string]int{"less than the 3": 2, "depth 0": 0, "depth 1048577": 1<<20 + 1} {
		if err := r.Resize(depth); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("depth %d: %v, want %q", depth, err, says)
		}
	}
	poll(3)
	push(4)
	if !r.Overflowed() {
		t.Error("no overflow")
	}
	if err := r.Resize(10); err != nil || !r.Overflowed() {
		t.Error("after an overflow a resize changes that", err)
	}
}

func TestResizeWithoutABuffer(t *testing.T) {
	if r, _ := newCompletionRing(t, 7, nil); r.Resize(9) == nil {
		t.Error("a ring without NewBuffer is resized")
	}
	no := errors.New("no memory")
	for says, next := range map[string]rings.NewBuffer{
		"no memory": func(rings.Geometry) ([]byte, error) { return nil, no },
		"needs":     func(g rings.Geometry) ([]byte, error) { return make([]byte, g.Size()-1), nil },
	} {
		r, p := newCompletionRing(t, 7, next)
		r.Push(&qp.WC{WRID: 5})
		if err := r.Resize(9); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
		if wc, ok := p.poll(); !ok || host.Uint64(wc) != 5 || r.Depth() != 7 || r.Lost() {
			t.Errorf("%s: the ring is not as before", says)
		}
	}
}

// Whatever the consumer index, Len is 0 to Depth.
func TestAnyConsumerIndex(t *testing.T) {
	for _, consumer := range []uint32{0, 1, 3, 4, 7, 0x80000000, 1<<32 - 1} {
		r, p := newCompletionRing(t, 3, nil)
		r.Push(&qp.WC{})
		p.index(256).Store(consumer)
		if n := r.Len(); n < 0 || n > 3 {
			t.Errorf("consumer %d: %d completions", consumer, n)
		}
		for range 9 {
			r.Push(&qp.WC{})
		}
		if p.producer() > 3 {
			t.Errorf("consumer %d: producer %d", consumer, p.producer())
		}
	}
}
