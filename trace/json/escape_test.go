package json_test

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/json"
)

// Text from a file must not move the cursor of the terminal that it is shown in.
func TestControlCharactersAreEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"\u009b31m":                       `\u009b31m`,
		"a\u007f\u0080\u0085\u009f\u007f": `a\u007f\u0080\u0085\u009f\u007f`,
		"\u00a0\u00bf\u009bé\u00a3":       "\u00a0\u00bf\\u009bé\u00a3",
		"µs → \u2028":                     `µs → \u2028`,
		"\x1b[2J\n":                       `\u001b[2J\n`,
		"\x7f\u009b":                      `\u007f\u009b`,
		"\u009b\x7f":                      `\u009b\u007f`,
		"":                                "",
	} {
		var out bytes.Buffer
		w := json.NewWriter(&out)
		if err := w.Message(&trace.Message{Verb: "SEND", Failed: "x" + text}); err != nil {
			t.Fatal(err)
		}
		line := out.String()
		if !strings.Contains(line, `"failed":"x`+want+`"`) || !strings.HasSuffix(line, "}\n") {
			t.Errorf("%q is written in %q", text, line)
		}
		var back struct{ Failed string }
		if err := stdjson.Unmarshal(out.Bytes(), &back); err != nil || back.Failed != "x"+text {
			t.Errorf("%q is read as %q, %v", text, back.Failed, err)
		}
	}
}
