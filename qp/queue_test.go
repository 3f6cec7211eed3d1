package qp_test

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorxe/gorxe/qp"
	"pgregory.net/rapid"
)

func sges() *rapid.Generator[[]qp.SGE] {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) qp.SGE {
		return qp.SGE{
			Addr:   rapid.Uint64().Draw(t, "addr"),
			Length: rapid.Uint32Range(0, 1<<20).Draw(t, "length"),
			LKey:   rapid.Uint32().Draw(t, "lkey"),
		}
	}), 0, 5)
}

func segments(sg []qp.SGE) (out []qp.Segment, n uint64) {
	for _, s := range sg {
		out = append(out, qp.Segment{Addr: s.Addr, Length: s.Length, LKey: s.LKey})
		n += uint64(s.Length)
	}
	return out, n
}

// The send queue against a slice.
func TestSendQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, 20).Draw(t, "depth")
		q := qp.NewSendQueue(depth, 4, false)
		q.SetMaxInline(32)
		popped := counter(t)
		q.StartAt(popped)
		var model []qp.SendWQE
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				sg := sges().Draw(t, "sg")
				wr := qp.SendWR{
					ID: rapid.Uint64().Draw(t, "id"), Opcode: qp.WROpcode(rapid.Byte().Draw(t, "opcode")),
					Flags: qp.Signaled, SGList: sg, Imm: rapid.Uint32().Draw(t, "imm"),
					RemoteAddr: 1, RKey: 2, CompareAdd: 3, Swap: 4, AH: &handle{}, RemoteQPN: 6, RemoteQKey: 7,
				}
				if rapid.Bool().Draw(t, "inline") {
					wr.Flags |= qp.Inline
					wr.SGList = nil
					wr.InlineData = rapid.SliceOfN(rapid.Byte(), 0, 34).Draw(t, "data")
				}
				err := q.Push(&wr)
				switch {
				case len(model) == depth:
					if !errors.Is(err, qp.ErrQueueFull) {
						t.Fatalf("push to a full queue: %v", err)
					}
					return
				case len(wr.SGList) > 4 || len(wr.InlineData) > 32:
					if !errors.Is(err, qp.ErrTooLarge) {
						t.Fatalf("push of too much: %v", err)
					}
					return
				case err != nil:
					t.Fatal(err)
				}
				segs, n := segments(wr.SGList)
				model = append(model, qp.SendWQE{
					ID: wr.ID, Opcode: wr.Opcode, Flags: wr.Flags, SG: segs, Imm: wr.Imm,
					Inline: bytes.Clone(wr.InlineData), Length: n + uint64(len(wr.InlineData)),
					RemoteAddr: 1, RKey: 2, CompareAdd: 3, Swap: 4, AH: wr.AH, RemoteQPN: 6, RemoteQKey: 7,
				})
				clear(wr.SGList)
				clear(wr.InlineData)
			},
			"note": func(t *rapid.T) {
				if len(model) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(model)-1).Draw(t, "i")
				w := q.At(q.Head() + uint32(i))
				w.Started, w.FirstPSN, w.Packets = true, 9, 10
				model[i].Started, model[i].FirstPSN, model[i].Packets = true, 9, 10
			},
			"pop": func(*rapid.T) {
				q.Pop()
				if len(model) > 0 {
					model = model[1:]
					popped++
				}
			},
			"reset": func(*rapid.T) {
				q.Reset()
				popped += uint32(len(model))
				model = nil
			},
			"": func(t *rapid.T) {
				if q.Len() != len(model) || q.Head() != popped || q.Tail() != popped+uint32(len(model)) {
					t.Fatalf("len %d, head %d, tail %d; want %d entries from %d", q.Len(), q.Head(), q.Tail(),
						len(model), popped)
				}
				for i := range model {
					got := *q.At(q.Head() + uint32(i))
					if diff := cmp.Diff(model[i], got, cmpopts.EquateEmpty()); diff != "" {
						t.Fatalf("entry %d: -want +got:\n%s", i, diff)
					}
				}
			},
		})
	})
}

// counter draws the start of the wrapping counters of a queue: close to the wrap or not.
func counter(t *rapid.T) uint32 {
	return rapid.OneOf(rapid.Just(uint32(0)), rapid.Uint32Range(math.MaxUint32-30, math.MaxUint32)).Draw(t, "counter")
}

func TestReceiveQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(0, 20).Draw(t, "depth")
		q := qp.NewRecvQueue(nil, depth, 4)
		q.StartAt(counter(t))
		var model []qp.RecvWQE
		var dst qp.RecvWQE
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				wr := qp.RecvWR{ID: rapid.Uint64().Draw(t, "id"), SGList: sges().Draw(t, "sg")}
				err := q.Push(&wr)
				switch {
				case len(model) == depth:
					if !errors.Is(err, qp.ErrQueueFull) {
						t.Fatalf("push to a full queue: %v", err)
					}
				case len(wr.SGList) > 4:
					if !errors.Is(err, qp.ErrTooLarge) {
						t.Fatalf("push of too many SGEs: %v", err)
					}
				case err != nil:
					t.Fatal(err)
				default:
					segs, n := segments(wr.SGList)
					model = append(model, qp.RecvWQE{ID: wr.ID, SG: segs, Length: n})
					clear(wr.SGList)
				}
			},
			"pop": func(t *rapid.T) {
				if q.Take(&dst) != (len(model) > 0) {
					t.Fatalf("pop with %d in the queue", len(model))
				}
				if len(model) == 0 {
					return
				}
				if dst.ID != model[0].ID || dst.Length != model[0].Length || !slices.Equal(dst.SG, model[0].SG) {
					t.Fatalf("popped %+v, want %+v", dst, model[0])
				}
				model = model[1:]
			},
			"reset": func(*rapid.T) {
				q.Reset()
				model = nil
			},
			"": func(t *rapid.T) {
				if q.Len() != len(model) {
					t.Fatalf("len %d, want %d", q.Len(), len(model))
				}
			},
		})
	})
}

func TestCompletionQueueModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		depth := rapid.IntRange(1, 20).Draw(t, "depth")
		c := qp.NewCQ(depth)
		c.StartAt(counter(t))
		var model []qp.WC
		overflowed := false
		t.Repeat(map[string]func(*rapid.T){
			"complete": func(t *rapid.T) {
				wc := qp.WC{WRID: rapid.Uint64().Draw(t, "id"), Status: qp.WCRetryExcErr}
				c.Complete(&wc)
				if overflowed = overflowed || len(model) == depth; !overflowed {
					model = append(model, wc)
				}
			},
			"poll": func(t *rapid.T) {
				dst := make([]qp.WC, rapid.IntRange(0, 8).Draw(t, "n"))
				n := c.Poll(dst)
				if n != min(len(dst), len(model)) || !slices.Equal(dst[:n], model[:n]) {
					t.Fatalf("polled %v, want %v", dst[:n], model)
				}
				model = model[n:]
			},
			"resize": func(t *rapid.T) {
				n := rapid.IntRange(-1, 40).Draw(t, "n")
				if good := n >= 1 && n >= len(model); (c.Resize(n) == nil) != good {
					t.Fatalf("with %d completions the resize to %d was taken: %v", len(model), n, !good)
				} else if good {
					depth = n
				}
			},
			"": func(t *rapid.T) {
				if c.Len() != len(model) || c.Overflowed() != overflowed || c.Depth() != depth {
					t.Fatalf("len %d, overflowed %v, depth %d; want %d, %v, %d", c.Len(), c.Overflowed(), c.Depth(),
						len(model), overflowed, depth)
				}
			},
		})
	})
}

func TestCompletionQueueResizesToItsLimits(t *testing.T) {
	c := qp.NewCQ(4)
	for n, ok := range map[int]bool{-1: false, 0: false, 1: true, qp.MaxDepth: true, qp.MaxDepth + 1: false} {
		before := c.Depth()
		err := c.Resize(n)
		if (err == nil) != ok || !ok && (c.Depth() != before || !strings.Contains(err.Error(), "out of range")) {
			t.Errorf("resize to %d: %v, the depth is %d", n, err, c.Depth())
		}
	}
}

func TestInlineDataMayHaveTheWholeLimit(t *testing.T) {
	q := qp.NewSendQueue(1, 1, false)
	q.SetMaxInline(16)
	if err := q.Push(&qp.SendWR{Flags: qp.Inline, InlineData: make([]byte, 16)}); err != nil {
		t.Error(err)
	}
}

func TestPushErrorsNameValueAndLimit(t *testing.T) {
	sg := func(n int, length uint32) []qp.SGE {
		return slices.Repeat([]qp.SGE{{Length: length}}, n)
	}
	sq, rq := qp.NewSendQueue(1, 3, false), qp.NewRecvQueue(nil, 1, 3)
	sq.SetMaxInline(16)
	for _, c := range []struct {
		name string
		err  error
		is   error
		want string
	}{
		{"SGEs of a send", sq.Push(&qp.SendWR{SGList: sg(4, 1)}), qp.ErrTooLarge,
			"4 SGEs, the limit of the send queue is 3"},
		{"SGEs of a receive", rq.Push(&qp.RecvWR{SGList: sg(4, 1)}), qp.ErrTooLarge,
			"4 SGEs, the limit of the receive queue is 3"},
		{"long message", sq.Push(&qp.SendWR{SGList: sg(3, 1<<30)}), qp.ErrTooLarge,
			"3221225472 bytes, a message has at most 2147483648"},
		{"long receive", rq.Push(&qp.RecvWR{SGList: sg(3, math.MaxUint32)}), qp.ErrTooLarge, "12884901885 bytes"},
		{"inline", sq.Push(&qp.SendWR{Flags: qp.Inline, InlineData: make([]byte, 17)}), qp.ErrTooLarge,
			"17 bytes inline, the limit of this queue pair is 16"},
		{"inline with SGEs", sq.Push(&qp.SendWR{Flags: qp.Inline, SGList: sg(2, 1)}), qp.ErrBadWR,
			"inline request with 2 SGEs"},
		{"largest message", sq.Push(&qp.SendWR{SGList: sg(2, 1<<30)}), nil, ""},
		{"largest receive", rq.Push(&qp.RecvWR{SGList: sg(2, 1<<30)}), nil, ""},
		{"full send queue", sq.Push(&qp.SendWR{}), qp.ErrQueueFull,
			"send queue is full: all 1 requests are outstanding"},
		{"full receive queue", rq.Push(&qp.RecvWR{}), qp.ErrQueueFull,
			"receive queue is full: all 1 requests are outstanding"},
	} {
		if !errors.Is(c.err, c.is) || c.is != nil && !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, c.err, c.want)
		}
	}
}

func TestQueueSizesOutOfRangeAreTakenIn(t *testing.T) {
	for depth, want := range map[int]int{-1: 0, 0: 0, 1: 1, 1 << 20: 1 << 20, 1<<20 + 1: 1 << 20} {
		if got := qp.NewSendQueue(depth, 1, false).Depth(); got != want {
			t.Errorf("send queue of %d has depth %d, want %d", depth, got, want)
		}
		if got := qp.NewRecvQueue(nil, depth, 1).Depth(); got != want {
			t.Errorf("receive queue of %d has depth %d, want %d", depth, got, want)
		}
		if got := qp.NewCQ(depth).Depth(); got != max(want, 1) {
			t.Errorf("completion queue of %d has depth %d, want %d", depth, got, max(want, 1))
		}
	}
	q := qp.NewSendQueue(1, -1, true)
	if !q.SigAll() {
		t.Error("SigAll is lost")
	}
	if err := q.Push(&qp.SendWR{SGList: make([]qp.SGE, 1)}); !errors.Is(err, qp.ErrTooLarge) {
		t.Errorf("an SGE for a queue without: %v", err)
	}
	if err := q.Push(&qp.SendWR{}); err != nil {
		t.Error(err)
	}
	r := qp.NewRecvQueue(nil, 1, 0)
	if err := r.Push(&qp.RecvWR{}); err != nil {
		t.Error(err)
	}
	q.Pop()
	q.Pop() // on an empty queue
	if q.Len() != 0 || q.Head() != 1 {
		t.Errorf("len %d, head %d after popping one of one twice", q.Len(), q.Head())
	}
}

// The rules of ibv_req_notify_cq(3).
func TestACompletionIsToldOfOnceWhereItWasAskedFor(t *testing.T) {
	plain, solicited, failed := qp.WC{}, qp.WC{Solicited: true}, qp.WC{Status: qp.WCWRFlushErr}
	for name, c := range map[string]struct {
		arm  []bool // solicitedOnly
		adds []qp.WC
		want []bool
	}{
		"not asked": {nil, []qp.WC{plain, solicited, failed}, []bool{false, false, false}},
		"any":       {[]bool{false}, []qp.WC{plain, plain}, []bool{true, false}},
		"solicited": {[]bool{true}, []qp.WC{plain, solicited, solicited},
			[]bool{false, true, false}},
		"an error counts as solicited": {[]bool{true}, []qp.WC{plain, failed, failed}, []bool{false, true, false}},
		"any is not lowered":           {[]bool{false, true}, []qp.WC{plain, solicited}, []bool{true, false}},
		"solicited is raised to any":   {[]bool{true, false}, []qp.WC{plain, solicited}, []bool{true, false}},
		"one that finds the queue full": {[]bool{true}, []qp.WC{plain, plain, plain, plain, solicited},
			[]bool{false, false, false, false, true}},
	} {
		cq := qp.NewCQ(4)
		for _, solicitedOnly := range c.arm {
			cq.Arm(solicitedOnly)
		}
		for i := range c.adds {
			if got := cq.Push(&c.adds[i]); got != c.want[i] {
				t.Errorf("%s: completion %d is told: %v", name, i, got)
			}
		}
	}
}
