package text_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/text"
)

func TestFieldsOfTunnelsAndOtherNetworks(t *testing.T) {
	for _, name := range []string{"tunnels/nested.pcap.gz", "tunnels/erspan3_cut.pcap.gz", "tunnels/nvgre.pcap.gz",
		"tunnels/mpls.pcap.gz", "specs/infiniband.pcap", "specs/rocev1.pcap", "specs/iwarp.pcap", "specs/uet.pcap",
		"specs/pause.pcap"} {
		t.Run(name, func(t *testing.T) {
			file, err := os.Open("../testdata/" + name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			in := io.Reader(file)
			if strings.HasSuffix(name, ".gz") {
				if in, err = gzip.NewReader(file); err != nil {
					t.Fatal(err)
				}
			}
			r, err := capture.Open(in)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			p := trace.Pipeline{Outputs: []trace.Output{text.NewWriter(&out, text.Options{Fields: true})}}
			if err := p.Run(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			base, _, _ := strings.Cut(name[strings.Index(name, "/")+1:], ".")
			golden.Check(t, "networks/"+base+".txt", out.String())
		})
	}
}
