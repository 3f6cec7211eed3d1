package cli

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/html"
)

// htmlSink collects packets and writes a page of them when the capture has ended.
type htmlSink struct {
	page *html.Page
	file *os.File
	says io.Writer
}

// traceHTML makes the file at once: whoever may not write there is to hear it before a long capture is read.
func (a *app) traceHTML(p *traceParams) (traceSink, error) {
	title := "standard input"
	if p.source != "" && p.source != "-" {
		title = filepath.Base(p.source)
	}
	if sameFile(p.source, p.html) {
		return nil, fmt.Errorf("--html %s: that is the capture itself; name another file", p.html)
	}
	file, err := os.Create(p.html)
	if err != nil {
		return nil, fmt.Errorf("--html: %w", err)
	}
	return &htmlSink{page: html.New(html.Options{Title: title}), file: file, says: a.stderr}, nil
}

func (s *htmlSink) Packet(_ *trace.Frame, p *trace.Packet) error {
	s.page.Add(p)
	return nil
}

func (s *htmlSink) Close() error {
	b := bufio.NewWriter(s.file)
	_, err := s.page.WriteTo(b)
	if err == nil {
		err = b.Flush()
	}
	if e := s.file.Close(); err == nil {
		err = e
	}
	if n := s.page.LeftOut(); err == nil && n > 0 {
		fmt.Fprintf(s.says, "%s holds the first %s; %d more are left out: choose with --filter\n", s.file.Name(), plural(html.DefaultMax, "packet"), n)
	}
	return err
}
