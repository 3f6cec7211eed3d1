package rxelab

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/report"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// Printer is a Progress that prints a line for every cell. On a terminal only failures stay; the
// other output is one line that is overwritten.
type Printer struct {
	W        io.Writer
	Terminal bool

	begin  time.Time
	failed int
}

const clearLine = "\r\x1b[K"

func (p *Printer) line(format string, args ...any) {
	if p.Terminal {
		fmt.Fprint(p.W, clearLine)
	}
	fmt.Fprintf(p.W, format+"\n", args...)
}

// Step prints the start of a step that takes a while.
func (p *Printer) Step(what string) {
	if p.Terminal {
		fmt.Fprintf(p.W, "%s%s ...", clearLine, what)
		return
	}
	p.line("%s", what)
}

// Begin implements Progress.
func (p *Printer) Begin(k *vm.Kernel, cells int) {
	p.begin, p.failed = time.Now(), 0
	p.line("Linux %s (Debian %s): %d cells", k.Release, k.Suite, cells)
}

// Done implements Progress.
func (p *Printer) Done(r report.Result, done, cells int) {
	verdict := "ok  "
	if !r.Passed() {
		p.failed++
		verdict = "FAIL"
	}
	text := fmt.Sprintf("[%*d/%d] %s %s  %.1f s, %d packets", len(fmt.Sprint(cells)), done, cells, verdict, r.ID,
		r.Seconds, r.Traffic.Packets)
	switch {
	case !r.Passed():
		p.line("%s\n       %s", text, strings.Join(r.Failures, "\n       "))
	case !p.Terminal:
		p.line("%s", text)
	}
	if p.Terminal {
		left := time.Since(p.begin) / time.Duration(done) * time.Duration(cells-done)
		fmt.Fprintf(p.W, "%s%s  (%d failed, about %v left)", clearLine, text, p.failed, left.Round(time.Second))
		if done == cells {
			fmt.Fprint(p.W, clearLine)
		}
	}
}

// Again implements Progress.
func (p *Printer) Again(r report.Result) {
	p.line("again: %s\n       %s", r.ID, strings.Join(r.Failures, "\n       "))
}

// Lost implements Progress.
func (p *Printer) Lost(k *vm.Kernel, reason error) {
	p.line("Linux %s: %v; booting it again", k.Release, reason)
}
