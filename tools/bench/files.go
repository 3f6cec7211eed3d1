package bench

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// WriteFiles writes the measurements as JSON, and the report as Markdown with its chart in the
// same directory. A file with an empty name is not written.
func (r *Report) WriteFiles(json, doc string) error {
	var errs []error
	if json != "" {
		errs = append(errs, writeFile(json, r.Write))
	}
	if doc != "" {
		chart := strings.TrimSuffix(filepath.Base(doc), filepath.Ext(doc)) + ".svg"
		errs = append(errs, writeFile(filepath.Join(filepath.Dir(doc), chart), r.Chart),
			writeFile(doc, func(w io.Writer) error { return r.Markdown(w, chart) }))
	}
	return errors.Join(errs...)
}

// writeFile creates or replaces a file.
func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(fmt.Errorf("writing %s: %w", name, err), f.Close())
	}
	return f.Close()
}

// DisturbedSamples returns the number of disturbed measurements.
func (r *Report) DisturbedSamples() int {
	n := 0
	for i := range r.Samples {
		if r.Samples[i].Load.Disturbed() {
			n++
		}
	}
	return n
}
