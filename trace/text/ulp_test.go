package text_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/text"
)

var ulpCaptures = []string{"nvme", "iser", "smbdirect", "nfs"}

// ulpText returns the output of a capture of an upper-layer protocol.
func ulpText(t *testing.T, name string, output func(*bytes.Buffer) trace.Output) string {
	t.Helper()
	pcap, err := os.ReadFile(filepath.Join("..", "testdata", "ulp", name+".pcap"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := capture.Open(bytes.NewReader(pcap))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := trace.Pipeline{Outputs: []trace.Output{output(&b)}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func messages(b *bytes.Buffer) trace.Output { return text.NewMessages(b, false) }
func flows(b *bytes.Buffer) trace.Output    { return text.NewFlows(b, false) }
func allFields(b *bytes.Buffer) trace.Output {
	return text.NewWriter(b, text.Options{Fields: true, Hex: true})
}

func TestLinesOfUpperLayerProtocols(t *testing.T) {
	for _, name := range ulpCaptures {
		golden.Check(t, "ulp_"+name+".golden", ulpText(t, name, messages)+ulpText(t, name, flows))
	}
}

func TestHeadersOfUpperLayerProtocols(t *testing.T) {
	for _, name := range ulpCaptures {
		all := strings.Split(ulpText(t, name, allFields), "\n")
		var upper []string
		show := false
		for _, l := range all {
			indent := len(l) - len(strings.TrimLeft(l, " "))
			if strings.Contains(l, "198.18.0.") && strings.Contains(l, "PSN") {
				upper = append(upper, l)
				show = false
			} else if header := strings.TrimSpace(l); indent > 30 && header != "" {
				show = hasPrefix(header, "NVMe", "iS", "SMB", "RPC", "NFS")
			} else if strings.Contains(l, "Payload") || strings.Contains(l, "ICRC") {
				show = false
			}
			if show {
				upper = append(upper, l)
			}
		}
		golden.Check(t, "ulp_"+name+"_headers.golden", strings.Join(upper, "\n")+"\n")
	}
}

func hasPrefix(s string, prefixes ...string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

// Names, credentials and file handles in the payload are private.
func TestNoNameInAPayloadIsShown(t *testing.T) {
	for _, name := range ulpCaptures {
		for _, o := range []func(*bytes.Buffer) trace.Output{messages, flows, allFields} {
			out := ulpText(t, name, o)
			for _, private := range []string{"iqn.", "InitiatorName", "example", "0x686f7374", "68 6f 73 74",
				"0x01020304", "01 02 03 04"} {
				if strings.Contains(out, private) {
					t.Errorf("%s: the output contains %q", name, private)
				}
			}
		}
	}
}
