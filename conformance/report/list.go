package report

import (
	"encoding/json"
	"io"

	"github.com/gorxe/gorxe/conformance"
)

// listed is a case in the list of WriteList.
type listed struct {
	ID      string            `json:"id"`
	Level   conformance.Level `json:"level"`
	Rule    string            `json:"rule"`
	Source  string            `json:"source"`
	Program string            `json:"program"`
	Raw     bool              `json:"raw,omitempty"`
}

// WriteList writes cases as a JSON array; $defs/list of Schema describes it.
func WriteList(w io.Writer, cases []*conformance.Case) error {
	list := []listed{}
	for _, c := range cases {
		list = append(list, listed{c.ID, c.Level, c.Rule, c.Source, c.Program.String(), c.Raw})
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(list)
}
