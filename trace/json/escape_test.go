package json_test

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/json"
)

// Text from a capture cannot control a terminal that displays the JSON, and parsers still read it
// unchanged.
func TestTextOfOthersHasNoControlCharactersInJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"plain", "plain"}, {"\x1b[2J\n", `\u001b[2J\n`}, {"a\x7fb", `a\u007fb`},
		{"c1 \u009b2J", `c1 \u009b2J`}, {"\u009b", `\u009b`},
		{"to the \u202eleft", `to the \u202eleft`}, {"zero\u200bwidth\u2028", `zero\u200bwidth\u2028`},
		{"tag \U000e0041!", `tag \udb40\udc41!`},
		{"µs → \U0001f600 <&>", "µs → \U0001f600 <&>"}, {"was \ufffd", "was \ufffd"},
	} {
		var out bytes.Buffer
		w := json.NewWriter(&out)
		if err := errors.Join(w.Message(&trace.Message{WR: c.in}), w.Message(&trace.Message{WR: "next"})); err != nil {
			t.Fatal(err)
		}
		text := out.String()
		if !strings.Contains(text, `"`+c.want+`"`) || !utf8.ValidString(text) ||
			strings.ContainsFunc(strings.ReplaceAll(text, "\n", ""),
				func(r rune) bool { return !unicode.IsGraphic(r) }) {
			t.Errorf("%q is written as %q", c.in, text)
		}
		dec := stdjson.NewDecoder(&out)
		for _, want := range []string{c.in, "next"} {
			var m map[string]any
			if err := dec.Decode(&m); err != nil || !hasValue(m, want) {
				t.Errorf("%q is read back as %v, %v", want, m, err)
			}
		}
	}
}

func hasValue(m map[string]any, want string) bool {
	for _, v := range m {
		if v == want {
			return true
		}
	}
	return false
}
