package lesson

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
)

func TestLessonsAreShortAndSayTheirRule(t *testing.T) {
	keys := map[string]bool{}
	for _, l := range All() {
		if keys[l.Key] || l.Key == "" || l.Title == "" || l.Rule == "" {
			t.Errorf("%+v", l)
		}
		keys[l.Key] = true
		if n := strings.Count(l.Text, ". ") + 1; n > 4 || len(l.Text) > 500 || !strings.HasSuffix(l.Text, ".") {
			t.Errorf("%s: %d sentences of %d bytes", l.Key, n, len(l.Text))
		}
	}
}

// taught returns the lessons of list for p.
func taught(list []entry, p *trace.Packet) (keys []string) {
	for _, e := range list {
		if e.explains(p) {
			keys = append(keys, e.Key)
		}
	}
	return keys
}

func TestEveryKindOfFindingHasItsLesson(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../findings.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []trace.Kind
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || spec.Type == nil {
			return true
		}
		if name, ok := spec.Type.(*ast.Ident); !ok || name.Name != "Kind" {
			return true
		}
		kind, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, trace.Kind(kind))
		p := &trace.Packet{Err: errors.New("any"), Findings: []trace.Finding{{Kind: trace.Kind(kind)}}}
		if keys := taught(exceptionLessons, p); !slices.Equal(keys, []string{kind}) {
			t.Errorf("%s has the lessons %q", kind, keys)
		}
		return true
	})
	if len(kinds) < 20 {
		t.Errorf("%d kinds found", len(kinds))
	}
	if diff := cmp.Diff(kinds, trace.Kinds()); diff != "" {
		t.Errorf("Kinds differs from the constants: %s", diff)
	}
}

func TestEveryOpcodeAndMessageHasItsLesson(t *testing.T) {
	for o := range bth.Opcodes() {
		if len(taught(requestLessons, &trace.Packet{BTH: bth.Packet{Opcode: o}})) == 0 {
			t.Errorf("%s has none", o)
		}
	}
	for a := mad.AttrREQ; a <= mad.AttrAPR; a++ {
		p := &trace.Packet{BTH: bth.Packet{Opcode: bth.UDSendOnly}, MAD: &mad.Message{Attribute: a}}
		if len(taught(cmLessons, p)) != 1 || len(taught(requestLessons, p)) != 0 {
			t.Errorf("%s has %q, %q", a, taught(cmLessons, p), taught(requestLessons, p))
		}
	}
	for h := bth.HasDETH; h <= bth.HasIETH; h <<= 1 {
		for o := range bth.Opcodes() {
			if o.Info().Headers == h &&
				len(taught(slices.Concat(requestLessons, encodingLessons),
					&trace.Packet{BTH: bth.Packet{Opcode: o}})) == 0 {
				t.Errorf("%s has none", o)
			}
		}
	}
}

func TestLessonsOfACaptureComeOnceAndWhereTheyBelong(t *testing.T) {
	file, err := os.Open("../testdata/rcops.pcap.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, err := capture.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int][]string{}
	all := map[string]bool{}
	teacher, a := NewTeacher(0), trace.NewAnalyzer(trace.Options{})
	var d trace.Decoder
	for f, err := range r.Frames() {
		if err != nil {
			t.Fatal(err)
		}
		d.Decode(f, func(p *trace.Packet) {
			a.Add(p)
			for _, l := range teacher.Teach(p) {
				if all[l.Key] {
					t.Errorf("%s is given twice", l.Key)
				}
				all[l.Key] = true
				got[p.Number] = append(got[p.Number], l.Key)
			}
		})
	}
	want := map[int][]string{
		8: {"roce", "queue_pair", "write"}, 9: {"psn", "reth", "packets"}, 10: {"icrc"}, 11: {"ack_req", "pad"},
		12: {"ack", "completion", "aeth"},
		27: {"immediate"}, 38: {"no_migreq", "read"}, 39: {"read_response"},
		51: {"send"}, 69: {"atomic"}, 70: {"atomic_ack"},
		90: {"nak_error", "remote_access", "nak"}, 126: {"rnr_nak"}, 127: {"again_after_rnr"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A lesson that does not fit at its packet comes at the next one of its message, and one whose
// packet was not there does not.
func TestLessonsThatDoNotFitArePostponed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		opcodes []bth.Opcode
		want    map[int][]string
	}{
		{"a WRITE", []bth.Opcode{bth.RCWriteFirst, bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast, bth.RCAck},
			map[int][]string{1: {"roce", "queue_pair", "write"}, 2: {"psn", "reth", "packets"}, 3: {"icrc"},
				5: {"ack", "aeth"}}},
		{"a READ", []bth.Opcode{bth.RCReadRequest, bth.RCReadResponseFirst, bth.RCReadResponseMiddle,
			bth.RCReadResponseLast},
			map[int][]string{1: {"roce", "queue_pair", "read"}, 2: {"read_response", "psn", "reth"},
				3: {"packets", "icrc"}, 4: {"aeth"}}},
		{"a WRITE without its first packet", []bth.Opcode{bth.RCWriteMiddle, bth.RCWriteMiddle, bth.RCWriteLast},
			map[int][]string{1: {"roce", "queue_pair", "write"}, 2: {"psn", "icrc"}}},
	} {
		got := map[int][]string{}
		teacher := NewTeacher(0)
		for i, o := range tt.opcodes {
			p := &trace.Packet{ICRC: trace.ICRC{Verdict: trace.Right},
				BTH: bth.Packet{Opcode: o, AETH: bth.AETH{Syndrome: bth.AckUnlimited}}}
			for _, l := range teacher.Teach(p) {
				got[i+1] = append(got[i+1], l.Key)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

func TestATextIsBrokenIntoLines(t *testing.T) {
	for _, l := range All() {
		text := string(l.Append(nil, "  | ", 80))
		for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			if !strings.HasPrefix(line, "  | ") || utf8.RuneCountInString(line) > 80 || strings.HasSuffix(line, " ") {
				t.Errorf("%s line %d: %q", l.Key, i, line)
			}
		}
		_, body, _ := strings.Cut(text, "\n")
		if words := strings.Fields(strings.ReplaceAll(body, "  | ", " ")); !slices.Equal(words,
			strings.Fields(l.Text+" ("+l.Rule+")")) {
			t.Errorf("%s lost words: %q", l.Key, words)
		}
	}
}
