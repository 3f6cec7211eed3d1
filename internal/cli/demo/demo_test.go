package demo

import (
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
)

func TestDemoIsTheSameForTheSameSeed(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			r := newWorld().Run(t.Context(), "demo --link pipe --seed 1")
			clitest.MustSucceed(t, "demo", r)
			golden.Check(t, "demo_pipe_seed1.golden", r.Stdout.String())
		})
		if t.Failed() {
			return
		}
	}
}

func TestDemoShowsLossForManySeeds(t *testing.T) {
	for seed := range 30 {
		synctest.Test(t, func(t *testing.T) {
			r := newWorld().Run(t.Context(),
				"demo --link pipe --seed "+string(rune('1'+seed%9))+strings.Repeat("7", seed/9))
			clitest.MustSucceed(t, "demo", r)
			text := r.Stdout.String()
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
		r := newWorld().Run(t.Context(), "demo --link pipe --loss 50 --seed 1")
		if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "choose a smaller --loss") ||
			strings.Count(r.Stderr.String(), "\n") != 1 {
			t.Error(r)
		}
	})
}

func TestDemoWithoutLoss(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newWorld().Run(t.Context(), "demo --link pipe --loss 0")
		clitest.MustSucceed(t, "demo", r)
		if text := r.Stdout.String(); strings.Contains(text, "again\n") ||
			!strings.Contains(text, "0 packets lost, 0 sent again") {
			t.Error(text)
		}
	})
}

func TestColourOnlyWhereWanted(t *testing.T) {
	if app.NewStyle(&strings.Builder{}).On {
		t.Error("colour into something that is no terminal")
	}
	if got := (app.Style{On: true}).Red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q", got)
	}
	if got := (app.Style{}).Red("x"); got != "x" {
		t.Errorf("got %q", got)
	}
}

func TestDemoSaysWhichActsThereAre(t *testing.T) {
	r := newWorld().Run(t.Context(), "demo --link pipe wrte")
	if want := `there is no act "wrte": choose some of write, read, atomic, send, rnr, loss`; r.Code != app.ExitUsage ||
		!strings.Contains(r.Stderr.String(), want) {
		t.Error(r)
	}
}
