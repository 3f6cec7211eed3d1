package nic

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/gorxe/gorxe/bth"
)

func TestReadyListModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, qps := &readyList{}, make([]*QP, 6)
		for i := range qps {
			qps[i] = &QP{}
		}
		var model []*QP
		add := func(t *rapid.T, put func(*QP), at func(*QP) []*QP) {
			q := rapid.SampledFrom(qps).Draw(t, "qp")
			if q.list != nil {
				t.Skip("in the list")
			}
			put(q)
			model = at(q)
		}
		t.Repeat(map[string]func(*rapid.T){
			"push":  func(t *rapid.T) { add(t, l.push, func(q *QP) []*QP { return append(model, q) }) },
			"unpop": func(t *rapid.T) { add(t, l.pushFront, func(q *QP) []*QP { return slices.Insert(model, 0, q) }) },
			"pop": func(t *rapid.T) {
				if len(model) == 0 {
					if q := l.pop(); q != nil {
						t.Fatal("a queue pair out of an empty list")
					}
					return
				}
				if q := l.pop(); q != model[0] {
					t.Fatal("not the one that waited longest")
				}
				model = model[1:]
			},
			"remove": func(t *rapid.T) {
				q := rapid.SampledFrom(qps).Draw(t, "qp")
				if q.list == nil {
					t.Skip("not in the list")
				}
				l.remove(q)
				model = slices.DeleteFunc(model, func(p *QP) bool { return p == q })
			},
			"": func(t *rapid.T) {
				var list []*QP
				for q := l.head; q != nil; q = q.next {
					list = append(list, q)
				}
				if !slices.Equal(list, model) || l.len != len(model) {
					t.Fatalf("%d queue pairs wait, want %d", len(list), len(model))
				}
				for _, q := range qps {
					if want := slices.Contains(model, q); (q.list == l) != want || want && q == model[len(model)-1] &&
						l.tail != q {
						t.Fatal("the list of a queue pair, or the tail, is wrong")
					}
				}
			},
		})
	})
}

// Queue pairs that always have more to send send the same number of bytes, whatever the length of
// their packets and however often packets make them ready.
func TestQueuePairsGetTheSameNumberOfBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var ts turns
		qps := make([]*QP, rapid.IntRange(2, 8).Draw(t, "queue pairs"))
		size, got, index := make([]int, len(qps)), make([]int, len(qps)), map[*QP]int{}
		for i := range qps {
			qps[i], size[i] = &QP{}, rapid.IntRange(minCharge, 4200).Draw(t, "frame")
			index[qps[i]] = i
			ts.push(qps[i])
		}
		busiest := 0
		for busiest < 100*turnBytes {
			q := ts.pop(rapid.IntRange(0, 3).Draw(t, "pump") > 0)
			if q == nil {
				continue
			}
			i, n := index[q], min(q.frames(4200, flushBytes), minBatch)
			got[i] += n * size[i]
			busiest = max(busiest, got[i])
			q.credit -= n * size[i]
			if rapid.Bool().Draw(t, "crowded") {
				ts.leaveToPump(q)
			} else {
				ts.requeue(q, false)
			}
			ts.push(qps[rapid.IntRange(0, len(qps)-1).Draw(t, "received for")])
		}
		// A turn may begin or end within the comparison.
		if least := slices.Min(got); busiest-least > 2*turnBytes {
			t.Errorf("bytes sent %d: one is ahead by %d", got, busiest-least)
		}
	})
}

// A queue pair with little to send goes before all that have used up their credit, and does not
// start a new round for one that always has more while others wait.
func TestShortAnswersDoNotWaitBehindLongOnes(t *testing.T) {
	var ts turns
	long := [3]QP{}
	for i := range long {
		ts.push(&long[i])
	}
	for range long {
		q := ts.pop(false)
		q.credit -= turnBytes
		ts.requeue(q, false)
	}
	if q := ts.pop(false); q != nil {
		t.Fatal("a queue pair that had its turn is fresh")
	}
	var short QP
	ts.push(&short)
	if q := ts.pop(true); q != &short {
		t.Fatal("a short answer waits behind long ones")
	}
	short.credit -= minCharge
	for i := range long {
		if q := ts.pop(true); q != &long[i] {
			t.Fatalf("turn %d is another's", i)
		}
		long[i].credit -= 2 * turnBytes // twice its credit: it misses the next round
		ts.requeue(&long[i], false)
		ts.push(&long[i])
	}
	ts.push(&short)
	if q := ts.pop(true); q != &short {
		t.Fatal("a short answer waits behind those that owe")
	}
	if q := ts.pop(false); q != nil {
		t.Fatal("a queue pair that owes bytes is fresh")
	}
	if q := ts.pop(true); q != &long[0] || q.credit <= 0 {
		t.Fatalf("a queue pair with credit %d has its turn", q.credit)
	}
}

// A turn left to the pump is not continued by the receiver, goes before those of the next round,
// and does not start anew.
func TestAKeptTurnIsThePumps(t *testing.T) {
	var ts turns
	var long, spent, short QP
	for _, q := range []*QP{&long, &spent} {
		ts.push(q)
	}
	ts.pop(true).credit -= minCharge
	ts.pop(true).credit -= turnBytes
	ts.leaveToPump(&long)
	ts.leaveToPump(&spent)
	if q := ts.pop(false); q != nil || ts.has(false) || !ts.has(true) || ts.single() {
		t.Fatal("the receiver has the turn of a queue pair that the pump keeps")
	}
	ts.push(&short)
	for _, want := range []*QP{&short, &long, &spent} {
		if q := ts.pop(true); q != want {
			t.Fatal("the turns are not in order: short, kept, next round")
		}
	}
	if long.credit != turnBytes-minCharge {
		t.Errorf("the kept turn has %d bytes left, want %d", long.credit, turnBytes-minCharge)
	}
	if ts.leaveToPump(&long); !ts.single() || ts.empty() {
		t.Error("a queue pair whose turn is kept is not the only one that is ready")
	}
	if ts.remove(&long); !ts.empty() {
		t.Error("a queue pair that is removed is ready")
	}
}

// What a packet requests keeps the receiver from the next one for at most one turn: the pump
// sends the rest of a long response.
func TestReceivedPacketsDoNotFlushLongAnswers(t *testing.T) {
	oneShard(t)
	v := newFortress(t)
	defer closeAll(t, v.end)
	s := v.dev.shard0()
	if err := v.dev.Deregister(v.mem); err != nil {
		t.Fatal(err)
	}
	v.register(make([]byte, 1<<20))
	in := newInbox(v.dev.gids[0], s)
	s.mu.Lock() // the pump waits
	before := s.count.txFrames
	a := arrival{src: addrB, packet: bth.Packet{
		Opcode: bth.RCReadRequest, PKey: 0xffff, DestQP: v.qp.Num(), PSN: v.psn, AckReq: true, MigReq: true,
		RETH: bth.RETH{VA: v.mem.IOVA(), RKey: v.mem.RKey(), DMALen: 1 << 20},
	}}
	now := s.dev.now()
	for range 10 {
		s.receive(now, s.out[in.index], &a)
		s.flushFresh(now)
	}
	sent := s.count.txFrames - before
	s.mu.Unlock()
	if most := uint64(turnBytes/minCharge + 1); sent == 0 || sent > most {
		t.Errorf("%d frames left with the packets that asked for them, want 1 to %d", sent, most)
	}
}

// What an acknowledgement permits is sent in the receiving goroutine as long as only one queue
// pair sends; if another one is ready, or there are READ responses to send, the pump sends what
// exceeds a turn.
func TestALoneRequesterIsNotHandedToThePump(t *testing.T) {
	spent := func(ts *turns, q *QP) {
		ts.push(q)
		ts.pop(false).credit = 0
		ts.requeue(q, false)
	}
	for _, tt := range []struct {
		name  string
		ready []*QP
		want  bool
	}{
		{"nobody", nil, false},
		{"one that sends requests", []*QP{{reads: answering(false)}}, true},
		{"one of datagrams", []*QP{{}}, true},
		{"one that answers a READ", []*QP{{reads: answering(true)}}, false},
		{"two", []*QP{{}, {}}, false},
	} {
		var ts turns
		for _, q := range tt.ready {
			spent(&ts, q)
		}
		if got := ts.single(); got != tt.want {
			t.Errorf("ready: %s: lone is %v", tt.name, got)
		}
		if ts.push(&QP{}); ts.single() {
			t.Errorf("ready: %s, and one that has not had its turn: lone", tt.name)
		}
	}
}

type answering bool

func (a answering) HasResponses() bool { return bool(a) }

func (a answering) HoldReplays(bool) {}

func (a answering) Replayed() (int, bool) { return 0, false }
