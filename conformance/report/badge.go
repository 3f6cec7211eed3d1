package report

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/gorxe/gorxe/conformance"
)

// badge is the response of an endpoint of shields.io.
type badge struct {
	SchemaVersion int    `json:"schemaVersion"`
	Label         string `json:"label"`
	Message       string `json:"message"`
	Color         string `json:"color"`
}

// WriteBadge writes a badge about r as shields.io reads it from an endpoint.
func (r *Report) WriteBadge(w io.Writer) error {
	b := badge{SchemaVersion: 1, Label: "RoCEv2 conformance", Color: "brightgreen"}
	judged, fails, warns := r.Judged(), r.Count(conformance.Fail), r.Count(conformance.Warn)
	b.Message = fmt.Sprintf("%d of %s", judged-fails-warns, plural(judged, "rule"))
	switch {
	case judged == 0:
		b.Message, b.Color = "not tested", "lightgrey"
	case fails > 0:
		b.Color = "red"
	case warns > 0:
		b.Color = "yellow"
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(b)
}
