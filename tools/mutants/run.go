package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// A runner runs tests in which one mutant is on.
type runner struct {
	root    string            // of the module
	scratch string            // a folder for what go builds
	overlay string            // list of the files with mutants
	timeout time.Duration     // of the tests of one package
	exec    []string          // program and arguments that run them, or nothing
	last    string            // a pattern of the tests that run where the others catch nothing
	built   map[string]string // the tests of each package, as a program
}

// result is what became of one mutant.
type result int

const (
	survived result = iota
	caught
	timedOut // caught: the tests did not end by themselves
)

// try runs the tests of the packages in turn until those of one catch the mutant, and returns
// which did.
func (r *runner) try(m *mutant, packages []string) (res result, by string, err error) {
	for _, pkg := range packages {
		if err := r.build(pkg); err != nil {
			return survived, "", err
		}
		if r.last != "" {
			if res, _, err := r.test(pkg, m.name(), "-test.skip="+r.last); res != survived || err != nil {
				return res, pkg, err
			}
		}
		if res, _, err := r.test(pkg, m.name(), "-test.run="+r.last); res != survived || err != nil {
			return res, pkg, err
		}
	}
	return survived, "", nil
}

// build builds the tests of a package, unless it has done so before, and runs them with no
// mutant on: tests that fail by themselves would seem to catch them all.
func (r *runner) build(pkg string) error {
	if r.built[pkg] != "" {
		return nil
	}
	to, err := filepath.Abs(filepath.Join(r.scratch, fmt.Sprintf("%d.test.exe", len(r.built))))
	if err != nil {
		return err
	}
	c := exec.Command("go", "test", "-c", "-vet=off", "-overlay", r.overlay, "-o", to, pkg)
	c.Dir = r.root
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests of %s with all mutants: %w\n%s", pkg, err, out)
	}
	r.built[pkg] = to
	res, out, err := r.test(pkg, "")
	if err == nil && res != survived {
		err = errors.New("the tests fail without any change")
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	return nil
}

// test runs the tests of a package that was built. A failure of the tests is no error but a
// result.
func (r *runner) test(pkg, name string, args ...string) (result, []byte, error) {
	args = slices.Concat(r.exec, []string{r.built[pkg], "-test.short", "-test.failfast", "-test.timeout=" + r.timeout.String()}, args)
	c := exec.Command(args[0], args[1:]...)
	c.Dir = filepath.Join(r.root, pkg)
	// Properties are tried with the same values each time, and leave no files in the tree.
	c.Env = append(os.Environ(), variable+"="+name, "RAPID_SEED=1", "RAPID_NOFAILFILE=true")
	out, err := c.CombinedOutput()
	switch {
	case err == nil:
		return survived, out, nil
	case c.ProcessState == nil:
		return survived, out, err
	case bytes.Contains(out, []byte("panic: test timed out")), !c.ProcessState.Exited():
		return timedOut, out, nil
	}
	return caught, out, nil
}
