package html_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/html"
)

// renderPage writes a capture as a page.
func renderPage(out io.Writer, in io.Reader, title string) error {
	r, err := capture.Open(in)
	if err != nil {
		return err
	}
	page := html.New(html.Options{Title: title})
	p := trace.Pipeline{Outputs: []trace.Output{page}}
	if err := p.Run(context.Background(), r); err != nil {
		return err
	}
	_, err = page.WriteTo(out)
	return err
}

// Write a capture as a page.
func Example() {
	in, err := os.Open("../testdata/loss_write.pcap.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	var page bytes.Buffer
	if err := renderPage(&page, in, "loss_write"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(bytes.Contains(page.Bytes(), []byte("<title>loss_write")))
	// Output: true
}
