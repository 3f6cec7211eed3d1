package cli

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gorxe/gorxe/trace/pcapng"
)

// pcapngSink writes the capture again, with what was found as comments. Frames without packets are in it as well, so that those
// after them keep their numbers.
type pcapngSink struct {
	*pcapng.Packets
	file io.Closer // nil for standard output
}

func (a *app) tracePcapng(p *traceParams) (traceSink, error) {
	o := pcapng.Options{Application: "gorxe " + buildVersion(), Description: "frames of a capture, with what gorxe found in them as comments"}
	if p.pcapng == "-" {
		return &pcapngSink{pcapng.NewPackets(a.stdout, o), nil}, nil
	}
	if sameFile(p.source, p.pcapng) {
		return nil, fmt.Errorf("--pcapng %s: that is the capture itself; name another file", p.pcapng)
	}
	file, err := os.Create(p.pcapng)
	if err != nil {
		return nil, err
	}
	return &pcapngSink{pcapng.NewPackets(file, o), file}, nil
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

func (s *pcapngSink) Close() error {
	err := s.Flush()
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
