package report

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Schema is the JSON Schema (draft 2020-12) of what [Report.WriteJSON] writes.
//
//go:embed schema.json
var Schema []byte

// WriteJSON writes r as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(r)
}

// maxJSON limits what Read reads, in bytes.
const maxJSON = 256 << 20

// Read reads the output of WriteJSON.
func Read(src io.Reader) (*Report, error) {
	limited := &io.LimitedReader{R: src, N: maxJSON}
	r := &Report{}
	if err := json.NewDecoder(limited).Decode(r); err != nil {
		if limited.N == 0 {
			return nil, fmt.Errorf("more than %d MiB", maxJSON>>20)
		}
		if errors.Is(err, io.EOF) {
			return nil, errors.New("the file is empty; write it with 'gorxe conform HOST --json'")
		}
		return nil, fmt.Errorf("this is not the output of 'gorxe conform HOST --json': %w", err)
	}
	if r.Format != Format {
		return nil, fmt.Errorf("format %d: this gorxe reads format %d, which 'gorxe conform HOST --json' writes",
			r.Format, Format)
	}
	r.clean()
	return r, nil
}

// clean makes texts safe to print that come from a file.
func (r *Report) clean() {
	r.Device, r.Link, r.Gorxe = clean(r.Device, maxDetail), clean(r.Link, maxDetail), clean(r.Gorxe, maxDetail)
	for i := range r.Cases {
		c := &r.Cases[i]
		for _, s := range []*string{&c.ID, &c.Rule, &c.Source, &c.Program, &c.Detail} {
			*s = clean(*s, maxDetail)
		}
		c.Output = cleanLines(c.Output, maxOutput)
		for k := range c.Values {
			v := &c.Values[k]
			v.Name, v.Unit = clean(v.Name, maxDetail), clean(v.Unit, maxDetail)
		}
		for k := range c.Packets {
			p := &c.Packets[k]
			for _, s := range []*string{&p.Src, &p.Dst, &p.Opcode, &p.Meaning} {
				*s = clean(*s, maxDetail)
			}
			for _, list := range [][]string{p.Findings, p.Notes} {
				for n := range list {
					list[n] = clean(list[n], maxDetail)
				}
			}
		}
	}
}
