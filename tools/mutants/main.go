// Command mutants changes one comparison, condition, counter or flag of a package at a time and
// reports whether the tests detect it: it tests the tests. A mutant with which no test fails is a
// survivor. Survivors that cannot be told from the original are listed in equivalent.txt, each
// with the reason; any other survivor makes the command fail.
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"regexp"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("mutants: ")
	per := flag.Int("per", 0, "maximum `number` of mutants to try of a file, evenly spread over it (0: all)")
	files := flag.String("file", "", "only files with these `names`, separated by commas")
	only := flag.String("kind", strings.Join(kinds, ","), "only mutants of these `kinds`")
	match := flag.String("match", "", "only mutants whose line in the report matches this `pattern`, such as rc.go:83")
	tests := flag.String("tests", "", "further `packages` whose tests may catch what those of its own package do not")
	timeout := flag.Duration("timeout", 2*time.Minute, "maximum `duration` of the tests of one package")
	last := flag.String("last", "", "a `pattern` of tests that take long: they run where the others catch nothing")
	exec := flag.String("exec", "",
		"run the tests by this `program`, as go test -exec: \"prlimit --cpu=10\" ends those that spin")
	list := flag.Bool("list", false, "list the mutants and run nothing")
	jobs := flag.Int("jobs", 1, "how many mutants are tried at once")
	verbose := flag.Bool("v", false, "tell of each mutant as it is tried")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: mutants [flags] package-folder ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	pattern, err := regexp.Compile(*match)
	if err != nil {
		log.Fatal(err)
	}
	s := selection{files: split(*files), kinds: split(*only), match: pattern, maxMutantsPerFile: *per}
	mutants, err := s.mutants(".", flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if *list {
		for i := range mutants {
			fmt.Println(&mutants[i])
		}
		return
	}
	r := runner{root: ".", timeout: *timeout, exec: strings.Fields(*exec), last: *last, built: map[string]string{}}
	bad, err := run(mutants, &r, split(*tests), *jobs, *verbose)
	if err != nil {
		log.Fatal(err)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// run tries the mutants, jobs at a time, first with the tests of their own packages, then with
// those of the packages in further. It prints a report and returns the number of survivors that
// are not listed as equivalent.
func run(mutants []mutant, r *runner, further []string, jobs int, verbose bool) (int, error) {
	equivalent, err := parseEquivalent(equivalentText)
	if err != nil {
		return 0, err
	}
	if r.scratch, err = os.MkdirTemp("", "mutants"); err != nil {
		return 0, err
	}
	defer os.RemoveAll(r.scratch)
	if r.overlay, err = overlay(r.root, r.scratch, mutants); err != nil {
		return 0, err
	}
	score := report{equivalent: equivalent, out: os.Stdout, scores: map[string]*score{}}
	for m, t := range r.tryAll(mutants, further, jobs) {
		if t.err != nil {
			return 0, t.err
		}
		if what := score.note(m, t.result, t.by != own(m)); verbose {
			fmt.Printf("%s: %s %s\n", m, what, t.by)
		}
	}
	return score.print()
}

func split(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}
