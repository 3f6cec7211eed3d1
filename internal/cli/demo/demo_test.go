package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/join"
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

func TestBothEndsAreRecorded(t *testing.T) {
	dir := t.TempDir()
	a, b := filepath.Join(dir, "a.pcapng"), filepath.Join(dir, "b.pcapng")
	synctest.Test(t, func(t *testing.T) {
		r := newWorld().Run(t.Context(), "demo --link pipe --loss 2 --seed 24 --trace "+a+" --trace-b "+b+" loss")
		if r.Code != 0 {
			t.Fatal(r)
		}
		for _, name := range []string{a, b} {
			if want := "144 packets in " + name; !strings.Contains(r.Stderr.String(), want) {
				t.Errorf("no %q in %s", want, r.Stderr.String())
			}
		}
	})
	var sources [2]trace.Source
	for i, name := range []string{a, b} {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if sources[i], err = capture.Open(f); err != nil {
			t.Fatal(err)
		}
	}
	report, err := join.Join(t.Context(), sources[0], sources[1], join.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Losses) != 2 || report.Total.Both != 143 {
		t.Errorf("%+v, %+v", report.Total, report.Losses)
	}
	for _, l := range report.Losses {
		if l.Where != join.Between || l.PSN != 0xeee9d7 {
			t.Errorf("%+v", l)
		}
	}
}

func TestBothEndsNeedTheirOwnFiles(t *testing.T) {
	r := newWorld().Run(t.Context(), "demo --link pipe --trace same --trace-b same loss")
	if r.Code != app.ExitUsage || !strings.Contains(r.Stderr.String(), "the same file") {
		t.Error(r)
	}
}

func TestATraceThatCannotBeWrittenIsNamed(t *testing.T) {
	r := newWorld().Run(t.Context(), "demo --link pipe --trace-b "+filepath.Join(t.TempDir(), "no", "file")+" loss")
	if r.Code != app.ExitFailure || !strings.Contains(r.Stderr.String(), "--trace-b") {
		t.Error(r)
	}
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
