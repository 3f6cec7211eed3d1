package procmem

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/mr"
)

// messages returns n WRITEs of size bytes of value, the first at off, each distance bytes after
// the previous one.
func messages(n int, off, size, distance uint64, value byte) (pieces []mr.Piece) {
	for range n {
		b := bytes.Repeat([]byte{value}, int(size))
		body := len(b) - min(len(b), mr.FinalBytes)
		if body > 0 {
			pieces = append(pieces, mr.Piece{Off: off, Data: b[:body]})
		}
		pieces = append(pieces, mr.Piece{Off: off + uint64(body), Data: b[body:], Final: true})
		off += distance
	}
	return pieces
}

func TestPiecesAreStoredInTurn(t *testing.T) {
	b := make([]byte, 20)
	for _, c := range []struct {
		pieces []mr.Piece
		calls  string
	}{
		{messages(2, 8, 16, 16, 1), "8+8 16+8 24+8 32+8"},
		{messages(2, 3, 5, 40, 1), "3+1 4+4 43+1 44+4"},
		{[]mr.Piece{{Off: 1, Data: b[:2]}, {Off: 3, Data: b[:3]}, {Off: 5, Data: b[:1]},
			{Off: 6, Data: b[:1]}}, "1+5 5+2"},
		{[]mr.Piece{{Off: 1, Data: b[:2]}, {Off: 3, Data: b[:1], Final: true}, {Off: 4, Data: b[:1]}}, "1+2 3+1 4+1"},
		{[]mr.Piece{{Off: 1, Data: nil}, {Off: 1, Data: nil, Final: true}}, ""},
	} {
		f, r := fakeRegion()
		if n, err := r.WritePieces(c.pieces); n != len(c.pieces) || err != nil {
			t.Fatalf("%d pieces: %v", n, err)
		}
		if got := strings.ReplaceAll(strings.Join(f.calls, " "), "write ", ""); got != c.calls {
			t.Errorf("the calls were %s, want %s", got, c.calls)
		}
	}
}

// After an error the caller knows which pieces have been stored.
func TestPiecesBeforeAnErrorAreCounted(t *testing.T) {
	two := [][]byte{make([]byte, 4), make([]byte, 4)}
	run := piecesAt(two, 0)
	for _, c := range []struct {
		pieces []mr.Piece
		done   int // bytes copied by the last call
		steps  int // number of earlier calls
		stored int
	}{
		{run, 0, 0, 0}, {run, 3, 0, 0}, {run, 4, 0, 1}, {run, 7, 0, 1},
		{messages(2, 0, 16, 16, 1), 0, 0, 0}, {messages(2, 0, 16, 16, 1), 0, 1, 1},
		{messages(2, 0, 16, 16, 1), 0, 2, 2},
		{messages(2, 0, 16, 16, 1), 0, 3, 3},
	} {
		steps := slices.Repeat([]step{{100, nil}}, c.steps)
		if c.done > 0 {
			steps = append(steps, step{c.done, nil})
		}
		_, r := fakeRegion(append(steps, step{0, syscall.EIO})...)
		if n, err := r.WritePieces(c.pieces); n != c.stored || !errors.Is(err, Inaccessible) {
			t.Errorf("%+v: %d stored, %v", c, n, err)
		}
	}
	_, r := fakeRegion()
	for i, off := range []uint64{97, 101, 1 << 63, 1<<64 - 3} {
		n, err := r.WritePieces([]mr.Piece{{Off: 0, Data: two[0]}, {Off: off, Data: two[0]}, {Off: 0, Data: two[0]}})
		if n != 1 || !errors.Is(err, OutOfBounds) {
			t.Errorf("piece at %#x: %d stored, %v", off, n, err)
		}
		if i == 0 && r.Err() == nil {
			t.Error("the error was not kept")
		}
	}
}

// The result is the same with and without direct copies.
func TestPiecesCopiedDirectlyAreTheSame(t *testing.T) {
	const size = 64 << 10
	_, s, r := directMemory(t, size)
	slow := register(t, s, r.Addr(), size, allFlag)
	random := rand.New(rand.NewSource(1))
	want := make([]byte, size)
	for range 200 {
		pieces := make([]mr.Piece, random.Intn(400))
		for i := range pieces {
			p := &pieces[i]
			p.Final = random.Intn(2) == 0
			n := random.Intn(100)
			if p.Final {
				n = random.Intn(mr.FinalBytes + 1)
			}
			p.Data, p.Off = make([]byte, n), uint64(random.Intn(size-n))
			if i > 0 && random.Intn(2) == 0 {
				p.Off = min(pieces[i-1].Off+uint64(len(pieces[i-1].Data)), uint64(size-n))
			}
			random.Read(p.Data)
			copy(want[p.Off:], p.Data)
		}
		if n, err := r.WritePieces(pieces); n != len(pieces) || err != nil {
			t.Fatalf("%d of %d pieces: %v", n, len(pieces), err)
		}
		got := make([]byte, size)
		if err := slow.ReadAt(got, 0); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("other bytes, %v", err)
		}
	}
	if s.direct.write(messages(4, 0, 64, 64, 1), r.Addr()) == 0 {
		t.Error("no direct copy was made")
	}
}

// Pieces that the kernel cannot copy directly are stored with pwritev, up to the first one that
// is inaccessible.
func TestPiecesThatCannotBeCopiedDirectly(t *testing.T) {
	p, _, r := directMemory(t, 4*page)
	p.protect(r.Addr()+page, page, 0)
	all := messages(8, 0, 64, page/2, 7)
	if n, err := r.WritePieces(all); n != len(all) || err != nil {
		t.Errorf("with a page that was protected after its registration: %d stored, %v", n, err)
	}
	p.unmap(r.Addr()+2*page, page)
	if n, err := r.WritePieces(all); n != 8 || !errors.Is(err, Inaccessible) {
		t.Errorf("with a page that was unmapped: %d stored, %v", n, err)
	}
}

// The program polls the last byte of one of several messages. When it has changed, that message
// and all earlier ones are complete.
func TestEndsOfMessagesBecomeVisibleInOrder(t *testing.T) {
	for _, direct := range []bool{false, true} {
		p, _, r := memoryOf(t, 16*page)
		if direct {
			p, _, r = directMemory(t, 16*page)
		}
		for i, c := range []struct{ off, size uint64 }{{0, 64}, {3, 64}, {page - 32, 64}, {0, 8}, {5, 3},
			{1, 2 * page}} {
			for round := range 20 {
				value := byte(1 + (20*i+round)%255)
				// If the messages are adjacent, the program watches the first ones as one
				// message.
				watched := uint64(1 + round%6)
				if _, err := fmt.Fprintf(p.in, "watch %d %d %d\n", r.Addr()+c.off, watched*c.size, value); err != nil {
					t.Fatal(err)
				}
				if _, err := r.WritePieces(messages(6, c.off, c.size, c.size, value)); err != nil {
					t.Fatal(err)
				}
				p.expect("ok")
			}
		}
	}
}

func TestStoringPiecesAllocatesNothing(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector makes pools allocate")
	}
	for _, direct := range []bool{false, true} {
		_, _, r := memoryOf(t, 64<<10)
		if direct {
			_, _, r = directMemory(t, 64<<10)
		}
		pieces := append(messages(64, 3, 64, 64, 1), piecesAt([][]byte{make([]byte, 100), make([]byte, 100)}, 0)...)
		n := testing.AllocsPerRun(100, func() {
			if _, err := r.WritePieces(pieces); err != nil {
				t.Fatal(err)
			}
		})
		if n > 0 {
			t.Errorf("direct %v: %v allocations", direct, n)
		}
	}
}
