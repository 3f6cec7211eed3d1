package json_test

import (
	"bytes"
	"compress/gzip"
	stdjson "encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	"github.com/gorxe/gorxe/trace/json"
)

// networks returns the captures of tunnels and other networks.
func networks(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, dir := range []string{"tunnels", "specs", "iwarp"} {
		files, err := filepath.Glob("../testdata/" + dir + "/*.pcap*")
		if err != nil || len(files) == 0 {
			t.Fatalf("no captures in %s: %v", dir, err)
		}
		all = append(all, files...)
	}
	return all
}

// piped returns a capture as the JSON that a Pipeline writes.
func piped(t *testing.T, path string) []byte {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	in := io.Reader(file)
	if strings.HasSuffix(path, ".gz") {
		if in, err = gzip.NewReader(file); err != nil {
			t.Fatal(err)
		}
	}
	r, err := capture.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	p := trace.Pipeline{Outputs: []trace.Output{json.NewWriter(&b)}}
	if err := p.Run(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestTunnelsAndOtherNetworksObeyTheSchema(t *testing.T) {
	s := schema(t)
	tunnels, protocols, fabrics := map[any]bool{}, map[any]bool{}, map[any]bool{}
	for _, path := range networks(t) {
		b := piped(t, path)
		if len(b) == 0 && filepath.Base(path) == "others.pcap" { // has only protocols that are counted
			continue
		}
		for _, o := range validate(t, s, b) {
			if l, ok := o["tunnels"].([]any); ok {
				tunnels[l[0].(map[string]any)["kind"]] = true
			}
			if o["type"] == "foreign" {
				protocols[o["protocol"]] = true
			}
			fabrics[o["fabric"]] = true
		}
	}
	if len(tunnels) != 10 || len(protocols) != 4 || len(fabrics) != 3 {
		t.Errorf("tunnels %v, protocols %v, fabrics %v", tunnels, protocols, fabrics)
	}
}

func TestTheObjectOfAPFCFrameHasItsClasses(t *testing.T) {
	objects := validate(t, schema(t), piped(t, "../testdata/specs/pause.pcap"))
	o := objects[1]
	b, err := stdjson.Marshal(o["pause"])
	want := `{"classes":[{"class":3,"quanta":65535},{"class":4,"quanta":4096}]}`
	if err != nil || string(b) != want || o["protocol"] != "PFC" {
		t.Errorf("%s %v: %v", b, o["protocol"], err)
	}
}

func TestTheObjectOfAnInfiniBandPacketHasItsLIDs(t *testing.T) {
	o := validate(t, schema(t), piped(t, "../testdata/specs/infiniband.pcap"))[1]
	b, err := stdjson.Marshal(o["lrh"])
	want := `{"dlid":9,"len":1064,"lnh":2,"lver":0,"sl":2,"slid":5,` +
		`"vcrc":{"verdict":"right","want":"0xb86b","wire":"0xb86b"},"vl":1}`
	if err != nil || string(b) != want || o["ip"].(map[string]any)["src"] != "LID 5" || o["udp"] != nil {
		t.Errorf("%s, IP %v, UDP %v: %v", b, o["ip"], o["udp"], err)
	}
}
