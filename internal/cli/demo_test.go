package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"
)

func TestDemoIsTheSameForTheSameSeed(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newWorld().run(t.Context(), "demo --link pipe --seed 1")
			mustSucceed(t, "demo", r)
			checkGolden(t, "demo_pipe_seed1", r.out.String())
		})
		if t.Failed() {
			return
		}
	}
}

func TestDemoShowsLossForManySeeds(t *testing.T) {
	for seed := range 30 {
		synctest.Test(t, func(t *testing.T) {
			r := newWorld().run(t.Context(), "demo --link pipe --seed "+string(rune('1'+seed%9))+strings.Repeat("7", seed/9))
			mustSucceed(t, "demo", r)
			text := r.out.String()
			for _, want := range []string{"lost\n", "again\n", "sent again; every byte is right"} {
				if !strings.Contains(text, want) {
					t.Errorf("seed %d: no %q in\n%s", seed, want, text)
				}
			}
			for _, line := range strings.Split(text, "\n") {
				if utf8.RuneCountInString(line) > 108 {
					t.Errorf("line of %d columns: %s", utf8.RuneCountInString(line), line)
				}
			}
			if n := strings.Count(text, "\n"); n > 76 {
				t.Errorf("seed %d: %d lines", seed, n)
			}
			if strings.Contains(text, "\x1b") {
				t.Error("colour without a terminal")
			}
		})
	}
}

func TestDemoOnAnImpossibleLinkSaysSo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newWorld().run(t.Context(), "demo --link pipe --loss 50 --seed 1")
		if r.code != exitFailure || !strings.Contains(r.err.String(), "choose a smaller --loss") || strings.Count(r.err.String(), "\n") != 1 {
			t.Error(r)
		}
	})
}

func TestDemoWithoutLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newWorld().run(t.Context(), "demo --link pipe --loss 0")
		mustSucceed(t, "demo", r)
		if text := r.out.String(); strings.Contains(text, "again\n") || !strings.Contains(text, "0 packets lost, 0 sent again") {
			t.Error(text)
		}
	})
}

func TestColourOnlyWhereWanted(t *testing.T) {
	if newStyle(&strings.Builder{}).on {
		t.Error("colour into something that is no terminal")
	}
	if got := (style{on: true}).red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
	if got := (style{}).red("x"); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestDemoSaysWhichActsThereAre(t *testing.T) {
	r := newWorld().run(t.Context(), "demo --link pipe wrte")
	if want := `there is no act "wrte": choose some of write, read, atomic, send, rnr, loss`; r.code != exitUsage || !strings.Contains(r.err.String(), want) {
		t.Error(r)
	}
}
