//go:build linux && (amd64 || arm64)

package programs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
)

// The table of docs/programs.md is between these lines.
const (
	programsPage = "../../../docs/programs.md"
	tableBegin   = "<!-- what runs: written by go test -run WhatRuns ./internal/serve/programs -update -->\n"
	tableEnd     = "<!-- end of what runs -->\n"
	labPage      = "../../../docs/interop-programs.md" // the lab writes it
)

// notOptions matches the words of a command that specify where and how often, but not what.
var notOptions = regexp.MustCompile(
	`^(-F|-x 0|-g 0|-n \d+|-p PORT|-[asb] ADDR|ADDR|-C \d+|-c \d+|\S*ADDR:\S*|/\S*)( |$)`)

// optionsOf returns the options of a command line, without the program.
func optionsOf(line string) string {
	_, rest, _ := strings.Cut(line, " ")
	var out []string
	for rest != "" {
		if m := notOptions.FindString(rest); m != "" {
			rest = rest[len(m):]
			continue
		}
		word, after, _ := strings.Cut(rest, " ")
		if (word == "-s" || word == "-c") && (after == "" || after[0] == '-') { // the role
			rest = after
			continue
		}
		out, rest = append(out, word), after
	}
	return strings.Join(out, " ")
}

// runs holds the programs of a list of tests, with the options of each run.
type runs map[string][]string

func (r runs) add(options, line string) {
	program, _, _ := strings.Cut(line, " ")
	if !slices.Contains(r[program], options) {
		r[program] = append(r[program], options)
	}
}

func (r runs) addLines(lines ...string) {
	for _, line := range lines {
		r.add(optionsOf(line), line)
	}
}

// addTools adds tools; options common to server and client are added once.
func (r runs) addTools(tools ...tool) {
	for _, c := range tools {
		server, client := optionsOf(c.server), optionsOf(c.client)
		if server == "" || strings.Contains(client, server) {
			server = client
		} else if client != "" && client != server {
			server += ", " + client
		}
		r.add(server, c.server)
	}
}

// cellOf returns the table cell of a program.
func (r runs) cellOf(program string) string {
	options, ok := r[program]
	switch {
	case !ok:
		return ""
	case len(options) == 1 && options[0] == "":
		return "yes"
	}
	quoted := make([]string, len(options))
	for i, o := range options {
		quoted[i] = "`" + strings.ReplaceAll(o, ", ", "`, `") + "`"
		if o == "" {
			quoted[i] = "no options"
		}
	}
	return strings.Join(quoted, "; ")
}

// cells counts the cells of the lab, by program.
type cells map[string]struct{ passed, failed int }

var (
	kernelHeading = regexp.MustCompile(`^## Linux (\S+)$`)
	okCount       = regexp.MustCompile(`(\d+) ok`)
	failedCount   = regexp.MustCompile(`(\d+) FAILED`)
)

// labCells parses the summaries of the lab's page: for each kernel a table with a column per
// tool.
func labCells(page string) (kernels []string, all map[string]cells) {
	all = map[string]cells{}
	var kernel string
	var tools []string
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		columns := strings.Split(strings.Trim(line, "|"), "|")
		switch m := kernelHeading.FindStringSubmatch(line); {
		case m != nil:
			kernel, tools = m[1], nil
			kernels, all[kernel] = append(kernels, kernel), cells{}
		case kernel != "" && strings.HasPrefix(line, "| condition |") && strings.Contains(line, "packets checked"):
			tools = columns
		case tools == nil || strings.HasPrefix(line, "|---"):
		case !strings.HasPrefix(line, "|"):
			tools = nil
		default:
			for i, name := range tools[1 : len(tools)-1] {
				program, _, _ := strings.Cut(strings.TrimSpace(name), " ")
				program = strings.TrimSuffix(program, ",")
				n := all[kernel][program]
				n.passed += countIn(okCount, columns[i+1])
				n.failed += countIn(failedCount, columns[i+1])
				all[kernel][program] = n
			}
		}
	}
	return kernels, all
}

func countIn(pattern *regexp.Regexp, text string) int {
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

func (c cells) cellOf(program string) string {
	n := c[program]
	switch {
	case n.passed+n.failed == 0:
		return ""
	case n.failed > 0:
		return fmt.Sprintf("%d of %d", n.passed, n.passed+n.failed)
	}
	return strconv.Itoa(n.passed)
}

// whatRuns returns the table.
func whatRuns(lab string) string {
	bookworm, trixie := runs{}, runs{}
	for _, r := range []runs{bookworm, trixie} {
		r.addLines("ibv_devices", "ibv_devinfo -v", "ibv_asyncwatch")
		r.addLines(pingpongs...)
		r.addLines(perftests...)
		r.addTools(cmTools("/in", "/out")...)
		r.addLines("mckey")
	}
	bookworm.addLines("qperf -cm1 -P 1")
	kernels, cells := labCells(lab)

	all := map[string]bool{}
	for _, r := range []runs{bookworm, trixie} {
		for program := range r {
			all[program] = true
		}
	}
	for _, c := range cells {
		for program := range c {
			all[program] = true
		}
	}
	var b strings.Builder
	b.WriteString("| program | one host, Debian 12 | one host, trixie |")
	for _, k := range kernels {
		fmt.Fprintf(&b, " rxe of Linux %s |", strings.Join(strings.SplitN(k, ".", 3)[:2], "."))
	}
	b.WriteString("\n|---|---|---|" + strings.Repeat("---|", len(kernels)) + "\n")
	for _, program := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |", program, bookworm.cellOf(program), trixie.cellOf(program))
		for _, k := range kernels {
			fmt.Fprintf(&b, " %s |", cells[k].cellOf(program))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// The table is computed from the commands of the tests and, once the lab has written it, from the
// lab's page.
func TestThePageHasWhatRuns(t *testing.T) {
	lab, err := os.ReadFile(labPage)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	page, err := os.ReadFile(programsPage)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(page), tableBegin)
	_, tail, ends := strings.Cut(rest, tableEnd)
	if !ok || !ends {
		t.Fatalf("%s has no table between %q and %q", programsPage, tableBegin, tableEnd)
	}
	golden.CheckFile(t, programsPage, head+tableBegin+"\n"+whatRuns(string(lab))+"\n"+tableEnd+tail)
}

func TestOptionsOfACommandAreFound(t *testing.T) {
	for line, want := range map[string]string{
		"ib_write_bw -F -x 0 -b -q 4 -n 100":         "-b -q 4",
		"ib_send_bw -F -x 0 -c UC -n 100":            "-c UC",
		"rping -c -a ADDR -p PORT -C 20 -S 4096 -V":  "-S 4096 -V",
		"rcopy /tmp/in ADDR:/tmp/out":                "",
		"ib_write_bw -F -R -p PORT -n 100 ADDR":      "-R",
		"ucmatose -s ADDR -p PORT -c 50 -C 5":        "",
		"ib_atomic_lat -F -x 0 -A CMP_AND_SWAP -n 9": "-A CMP_AND_SWAP",
	} {
		if got := optionsOf(line); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestCellsOfTheLabAreCounted(t *testing.T) {
	kernels, all := labCells("## Linux 6.1.0-50-amd64\n\n" +
		"| condition | rping | rping, dead host | ib_read_bw | packets checked |\n|---|---|---|---|---|\n" +
		"| [clean](#a) | 4 ok | 2 ok | 3 ok, **1 FAILED** | 99 |\n| [loss](#b) | 1 ok | · | · | 7 |\n\n" +
		"Counters of rxe during these cells:\n\n" +
		"| condition | retries |\n|---|---|\n| clean | 7 |\n")
	got := fmt.Sprint(kernels, all)
	if got != "[6.1.0-50-amd64] map[6.1.0-50-amd64:map[ib_read_bw:{3 1} rping:{7 0}]]" {
		t.Error(got)
	}
}
