package main

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// A runner runs tests with one mutant selected.
type runner struct {
	root    string        // root of the module
	scratch string        // folder for build output
	overlay string        // list of the files with mutants
	timeout time.Duration // time limit for the tests of one package
	exec    []string      // program and arguments that run them; nil: none
	last    string        // pattern of the tests that run only if the others catch nothing

	building sync.Mutex
	built    map[string]string // test binary of each package; guarded by building
}

// result is the result of one mutant.
type result int

const (
	survived result = iota
	caught
	timedOut // caught: the tests did not end by themselves
)

// trial is the outcome of trying a mutant.
type trial struct {
	result result
	by     string // package whose tests caught it
	err    error
}

// own returns the package of a mutant.
func own(m *mutant) string { return "./" + path.Dir(m.file) }

// tryAll tries the mutants, jobs at a time, first with the tests of their own packages, then with
// those of the packages in further. It yields the results in the order of the mutants. If the
// loop ends early, it starts no more trials and waits for the running ones.
func (r *runner) tryAll(mutants []mutant, further []string, jobs int) iter.Seq2[*mutant, trial] {
	return func(yield func(*mutant, trial) bool) {
		trials := make([]chan trial, len(mutants))
		for i := range trials {
			trials[i] = make(chan trial, 1)
		}
		var running sync.WaitGroup
		defer running.Wait()
		stop := make(chan struct{})
		defer close(stop)
		slots := make(chan struct{}, max(jobs, 1))
		running.Go(func() {
			for i := range mutants {
				select {
				case slots <- struct{}{}:
				case <-stop:
					return
				}
				running.Go(func() {
					res, by, err := r.try(&mutants[i], append([]string{own(&mutants[i])}, further...))
					trials[i] <- trial{res, by, err}
					<-slots
				})
			}
		})
		for i := range mutants {
			if !yield(&mutants[i], <-trials[i]) {
				return
			}
		}
	}
}

// try runs the tests of the packages in turn until those of one catch the mutant. by is that
// package.
func (r *runner) try(m *mutant, packages []string) (res result, by string, err error) {
	for _, pkg := range packages {
		program, err := r.build(pkg)
		if err != nil {
			return survived, "", err
		}
		if r.last != "" {
			if res, _, err := r.test(pkg, program, m.name(), "-test.skip="+r.last); res != survived || err != nil {
				return res, pkg, err
			}
		}
		if res, _, err := r.test(pkg, program, m.name(), "-test.run="+r.last); res != survived || err != nil {
			return res, pkg, err
		}
	}
	return survived, "", nil
}

// build builds the test binary of a package once, and runs it with no mutant enabled: tests that
// fail anyway would appear to catch all mutants.
func (r *runner) build(pkg string) (program string, err error) {
	r.building.Lock()
	defer r.building.Unlock()
	if program := r.built[pkg]; program != "" {
		return program, nil
	}
	program, err = filepath.Abs(filepath.Join(r.scratch, fmt.Sprintf("%d.test.exe", len(r.built))))
	if err != nil {
		return "", err
	}
	c := exec.Command("go", "test", "-c", "-vet=off", "-overlay", r.overlay, "-o", program, pkg)
	c.Dir = r.root
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s with all mutants: %w\n%s", pkg, err, out)
	}
	res, out, err := r.test(pkg, program, "")
	if err == nil && res != survived {
		err = errors.New("the tests fail without any change")
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", pkg, err, out)
	}
	r.built[pkg] = program
	return program, nil
}

// test runs a test binary with the mutant name enabled. A test failure is a result, not an error.
func (r *runner) test(pkg, program, name string, args ...string) (result, []byte, error) {
	fixed := []string{program, "-test.short", "-test.failfast", "-test.timeout=" + r.timeout.String()}
	args = slices.Concat(r.exec, fixed, args)
	c := exec.Command(args[0], args[1:]...)
	c.Dir = filepath.Join(r.root, pkg)
	// Property tests use the same values each time, and leave no files in the tree.
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
