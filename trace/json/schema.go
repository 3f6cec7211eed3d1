package json

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) of every line that this package writes.
//
//go:embed schema.json
var Schema []byte
