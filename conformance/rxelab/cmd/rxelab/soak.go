package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/soak"
)

// soakFlags adds the flags of a soak test.
func soakFlags(fs *flag.FlagSet, s *soak.Options) {
	fs.DurationVar(&s.Traffic, "soak", 0, "instead of the matrix: `duration` for which clients connect to gorxe daemon, with 1 % of the packets lost and some clients killed; give one -kernel")
	fs.DurationVar(&s.Round, "round", 5*time.Minute,
		"of a soak: `duration` after which all clients end and the daemon must hold no objects for them")
	fs.IntVar(&s.Clients, "clients", 3, "of a soak: `number` of clients of each lane at a time")
	fs.Float64Var(&s.Kill, "kill", 0.25, "of a soak: `fraction` of the clients that are killed during their session")
	fs.Uint64Var(&s.Seed, "seed", rand.Uint64(), "of a soak: `seed` of the choice of clients (default: random)")
}

// runSoak runs a soak test instead of the matrix.
func (f *flags) runSoak(ctx context.Context, out *os.File) error {
	s := f.soak
	switch {
	case len(f.Suites) != 1:
		return fmt.Errorf("-soak runs on one kernel: give -kernel %s", strings.Join(cell.Suites, " or -kernel "))
	case s.Round <= 0 || s.Clients < 1 || s.Kill < 0 || s.Kill > 1:
		return errors.New("-soak wants -round above 0, -clients of 1 and more and -kill from 0 to 1")
	}
	s.Suite = f.Suites[0]
	s.Say = func(format string, args ...any) {
		fmt.Fprintf(out, time.Now().Format(time.TimeOnly)+" "+format+"\n", args...)
	}
	r, err := soak.Run(ctx, f.Options.Options, s)
	if r == nil {
		return err
	}
	err = errors.Join(err, r.Save(f.results), r.Text(out))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "logs:", f.Artifacts)
	if len(r.Verdict()) > 0 {
		return errCells
	}
	return nil
}
