package conformcmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorxe/gorxe/conformance/report"
	"github.com/spf13/pflag"
)

// files are the reports that are written to files.
type files struct {
	html, markdown, junit, badge string

	open []openFile
}

// openFile is a file that write fills.
type openFile struct {
	flag  string
	file  *os.File
	write func(io.Writer, []*report.Report) error
}

func (f *files) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.html, "html", "", "write the report as one HTML page to `file`")
	fs.StringVar(&f.markdown, "markdown", "", "write the report as Markdown to `file`")
	fs.StringVarP(&f.junit, "junit", "j", "", "write the report as JUnit XML to `file`")
	fs.StringVar(&f.badge, "badge", "", "write JSON for a badge of shields.io to `file`")
}

// create creates the files, so that a missing permission is reported before a long run. The
// contents of existing files stay until write.
func (f *files) create(junit report.JUnit) error {
	for _, o := range []struct {
		flag, name string
		write      func(io.Writer, []*report.Report) error
	}{
		{"--html", f.html, func(w io.Writer, r []*report.Report) error { return report.WriteHTML(w, r...) }},
		{"--markdown", f.markdown, func(w io.Writer, r []*report.Report) error {
			return report.WriteMarkdown(w, r...)
		}},
		{"--junit", f.junit, func(w io.Writer, r []*report.Report) error { return junit.Write(w, r...) }},
		{"--badge", f.badge, func(w io.Writer, r []*report.Report) error { return r[0].WriteBadge(w) }},
	} {
		if o.name == "" {
			continue
		}
		file, err := os.OpenFile(o.name, os.O_WRONLY|os.O_CREATE, 0o666)
		if err == nil {
			err = f.distinct(file, o.name)
		}
		if err != nil {
			f.close()
			return fmt.Errorf("%s: %w", o.flag, err)
		}
		f.open = append(f.open, openFile{o.flag, file, o.write})
	}
	return nil
}

// distinct returns an error if file is one of the open files.
func (f *files) distinct(file *os.File, name string) error {
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	for _, o := range f.open {
		if other, err := o.file.Stat(); err == nil && info.Mode().IsRegular() && os.SameFile(info, other) {
			return errors.Join(fmt.Errorf("%s is the file of %s: name another one", name, o.flag), file.Close())
		}
	}
	return nil
}

func (f *files) close() {
	for _, o := range f.open {
		o.file.Close()
	}
	f.open = nil
}

// write writes the reports and closes the files.
func (f *files) write(reports ...*report.Report) error {
	var errs []error
	for _, o := range f.open {
		var err error
		if info, _ := o.file.Stat(); info != nil && info.Mode().IsRegular() {
			err = o.file.Truncate(0)
		}
		if err == nil {
			err = o.write(o.file, reports)
		}
		if err = errors.Join(err, o.file.Close()); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", o.flag, err))
		}
	}
	f.open = nil
	return errors.Join(errs...)
}

// captureName returns the path of the capture of c in the folder of --pcapng, "" without one.
func (p *params) captureName(c *report.Case) string {
	if p.captures == "" || len(c.Pcapng) == 0 {
		return ""
	}
	return filepath.Join(p.captures, c.CaptureName(""))
}

// writeCaptures writes the captures of r into the folder of --pcapng.
func (p *params) writeCaptures(r *report.Report) error {
	for i := range r.Cases {
		c := &r.Cases[i]
		if name := p.captureName(c); name != "" {
			if err := os.WriteFile(name, c.Pcapng, 0o666); err != nil {
				return fmt.Errorf("--pcapng: %w", err)
			}
		}
	}
	return nil
}
