package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/conform"
)

// conformFlags adds the flags of the conformance matrix.
func conformFlags(fs *flag.FlagSet, f *flags) {
	fs.StringVar(&f.conform, "conform", "",
		"instead of the matrix: gorxe conform against `columns`, separated by commas, or all")
	fs.StringVar(&f.cases, "cases", "", "of -conform: `cases` and chapters, separated by commas (default: all)")
	fs.IntVar(&f.conformRuns, "runs", 1, "of -conform: `number` of runs of each column")
}

// runConform runs gorxe conform instead of the matrix.
func (f *flags) runConform(ctx context.Context, out io.Writer) error {
	o := conform.Options{Columns: conform.Columns, Runs: f.conformRuns,
		Say: func(text string) { fmt.Fprintln(out, text) }}
	var err error
	if f.conform != "all" {
		if o.Columns, err = conform.Select(strings.Split(f.conform, ",")); err != nil {
			return err
		}
	}
	if f.cases != "" {
		o.Cases = strings.Split(f.cases, ",")
	}
	results, err := conform.Run(ctx, f.Options.Options, o)
	return errors.Join(err, f.saveConform(results))
}

// saveConform writes the reports of all runs among the artifacts.
func (f *flags) saveConform(results []conform.Result) error {
	for _, x := range results {
		for n, r := range x.Reports {
			file, err := os.Create(filepath.Join(f.Artifacts, fmt.Sprintf("%s-%d.json", x.Key(), n+1)))
			if err != nil {
				return err
			}
			if err := errors.Join(r.WriteJSON(file), file.Close()); err != nil {
				return err
			}
		}
	}
	return nil
}
