package json

import _ "embed"

// Schema is the JSON Schema (draft 2020-12) that every line written here obeys.
//
//go:embed schema.json
var Schema []byte
