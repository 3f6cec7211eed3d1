package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	creport "github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/conformance/rxelab/conform"
)

// conformFlags adds the flags of the conformance matrix.
func conformFlags(fs *flag.FlagSet, f *flags) {
	fs.StringVar(&f.conform, "conform", "",
		"instead of the matrix: gorxe conform against `columns`, separated by commas, or all")
	fs.StringVar(&f.cases, "cases", "", "of -conform: `cases` and chapters, separated by commas (default: all)")
	fs.StringVar(&f.conformDoc, "conform-doc", "",
		"of -conform: write the matrix of all columns to `file` as Markdown, and the same as HTML beside it")
	fs.StringVar(&f.conformCaptures, "conform-captures", "",
		"of -conform-doc: `folder` for the captures of violations, instead of those that it has")
	fs.StringVar(&f.conformRender, "conform-render", "",
		"with -conform-doc: run nothing; read the JSON `files` of a run, separated by commas")
	fs.StringVar(&f.baselines, "baselines", "",
		"of -conform: `folder` with the expected verdicts of each column, such as rxe-6.12.txt and gorxe.txt")
	fs.BoolVar(&f.writeBaselines, "write-baselines", false, "of -baselines: write the verdicts of the first run there")
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
	begin := time.Now()
	results, err := conform.Run(ctx, f.Options.Options, o)
	if err != nil {
		return err
	}
	for range f.Retries {
		if err := f.again(ctx, o, results); err != nil {
			return err
		}
	}
	err = f.compare(results, out)
	if f.conformDoc == "" {
		return err
	}
	p := &conform.Page{Took: time.Since(begin), Deviations: conform.Deviations()}
	for _, x := range results {
		if len(x.Reports) == 0 {
			p.Left = append(p.Left, x)
			continue
		}
		p.Reports = append(p.Reports, x.Reports[0])
	}
	return cmp.Or(f.writeConform(p, out), err)
}

// again runs the cases of each column whose verdicts are not those of the baseline once more, and
// takes the results of this run. A busy machine can make a case inconclusive.
func (f *flags) again(ctx context.Context, o conform.Options, results []conform.Result) error {
	if f.baselines == "" || f.writeBaselines || f.conformRuns > 1 {
		return nil
	}
	m := f.Options.Options
	m.Artifacts = filepath.Join(m.Artifacts, "again")
	for i := range results {
		x := &results[i]
		ids, err := x.Unexpected(f.baselines)
		if err != nil {
			return err
		}
		if len(ids) == 0 {
			continue
		}
		lines, err := x.Differences(f.baselines)
		if err != nil {
			return err
		}
		o.Say("again, because not as expected:\n  " + strings.Join(lines, "\n  "))
		o.Columns, o.Cases, o.Runs = []conform.Column{x.Column}, ids, 1
		second, err := conform.Run(ctx, m, o)
		if err != nil {
			return err
		}
		for _, r := range second[0].Reports {
			x.Replace(r)
		}
	}
	return nil
}

// compare compares the results with the baselines, or writes these.
func (f *flags) compare(results []conform.Result, out io.Writer) error {
	if f.baselines == "" {
		return nil
	}
	var all []string
	for _, x := range results {
		if f.writeBaselines {
			if err := x.WriteBaseline(f.baselines); err != nil {
				return err
			}
			continue
		}
		lines, err := x.Differences(f.baselines)
		if err != nil {
			return err
		}
		all = append(all, lines...)
	}
	if len(all) == 0 {
		return nil
	}
	fmt.Fprintf(out, "\nnot as %s expects:\n  %s\nlogs: %s\n", f.baselines, strings.Join(all, "\n  "), f.Artifacts)
	return errCells
}

// renderConform writes the matrix of reports in files.
func (f *flags) renderConform(out io.Writer) error {
	p := &conform.Page{Deviations: conform.Deviations()}
	for _, name := range strings.Split(f.conformRender, ",") {
		file, err := os.Open(name)
		if err != nil {
			return err
		}
		r, err := creport.Read(file)
		file.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		conform.Trim(r)
		p.Reports = append(p.Reports, r)
		p.Took += time.Duration(r.Seconds * float64(time.Second))
	}
	return f.writeConform(p, out)
}

// writeConform writes the page, the same as HTML, and the captures of violations.
func (f *flags) writeConform(p *conform.Page, out io.Writer) error {
	links := ""
	if f.conformCaptures != "" {
		if err := p.WriteCaptures(f.conformCaptures); err != nil {
			return err
		}
		var err error
		if links, err = filepath.Rel(filepath.Dir(f.conformDoc), f.conformCaptures); err != nil {
			return fmt.Errorf("-conform-captures: %w", err)
		}
	}
	html := strings.TrimSuffix(f.conformDoc, filepath.Ext(f.conformDoc)) + ".html"
	err := errors.Join(
		create(f.conformDoc, func(w io.Writer) error { return p.Write(w, filepath.ToSlash(links)) }),
		create(html, func(w io.Writer) error { return creport.WriteHTML(w, p.Reports...) }))
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "matrix:", f.conformDoc)
	if missing := p.Unexplained(); len(missing) > 0 {
		fmt.Fprintf(out, "\nwithout an explanation in conformance/rxelab/conform/deviations.md:\n  %s\n",
			strings.Join(missing, "\n  "))
		return errCells
	}
	return nil
}

// create writes a file.
func create(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}
