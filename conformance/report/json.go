package report

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"regexp"

	"github.com/gorxe/gorxe/conformance"
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

// Read reads the output of WriteJSON. It refuses files beyond its limits, cases without a verdict,
// and IDs that are invalid or that two cases have.
func Read(src io.Reader) (*Report, error) {
	var f struct {
		Format int `json:"format"`
		Header
		Cases   []readCase `json:"cases"`
		Traffic []Value    `json:"traffic"`
	}
	limited := &limitedJSON{src: src}
	if err := json.NewDecoder(limited).Decode(&f); err != nil {
		switch {
		case limited.err != nil:
			return nil, limited.err
		case errors.Is(err, io.EOF):
			return nil, errors.New("the file is empty; write it with 'gorxe conform HOST --json'")
		}
		return nil, fmt.Errorf("this is not the output of 'gorxe conform HOST --json': %w", err)
	}
	if f.Format != Format {
		return nil, fmt.Errorf("format %d: this gorxe reads format %d, which 'gorxe conform HOST --json' writes",
			f.Format, Format)
	}
	r := &Report{Format: f.Format, Header: f.Header, Cases: make([]Case, len(f.Cases)), Traffic: f.Traffic}
	seen, packets := map[string]bool{}, 0
	for i := range f.Cases {
		c := &f.Cases[i]
		packets += len(c.Packets)
		switch {
		case i >= maxCases:
			return nil, fmt.Errorf("more than %d cases", maxCases)
		case packets > maxPackets:
			return nil, fmt.Errorf("more than %d packets", maxPackets)
		case len(c.ID) > maxID || !validID.MatchString(c.ID):
			return nil, fmt.Errorf("case %d: %.70q is no ID such as psn/3", i+1, c.ID)
		case c.Verdict == nil:
			return nil, fmt.Errorf("case %s has no verdict", c.ID)
		case seen[c.ID]:
			return nil, fmt.Errorf("there are two cases %s", c.ID)
		}
		seen[c.ID] = true
		r.Cases[i] = c.Case
		r.Cases[i].Verdict = *c.Verdict
	}
	r.clean()
	return r, nil
}

// maxID limits an ID in bytes.
const maxID = 64

var validID = regexp.MustCompile(`^[a-z]+/[0-9]+$`)

// readCase is a Case that shows whether there is a verdict.
type readCase struct {
	Case
	Verdict *conformance.Verdict `json:"verdict"`
}

// Limits of what Read reads. A value of a few bytes can take a hundred times as much in memory.
const (
	maxJSON    = 128 << 20 // bytes
	maxValues  = 1 << 20
	maxCases   = 1 << 12
	maxPackets = 1 << 17
)

// limitedJSON is a reader of JSON that ends with an error when a limit is exceeded.
type limitedJSON struct {
	src               io.Reader
	bytes, values     int
	inString, escaped bool
	err               error
}

func (l *limitedJSON) Read(b []byte) (int, error) {
	n, err := l.src.Read(b)
	l.bytes += n
	for _, c := range b[:n] {
		switch {
		case l.escaped:
			l.escaped = false
		case c == '"':
			l.inString = !l.inString
		case l.inString:
			l.escaped = c == '\\'
		case c == ',', c == '{', c == '[':
			l.values++
		}
	}
	switch {
	case l.bytes > maxJSON:
		l.err = fmt.Errorf("more than %d MiB", maxJSON>>20)
	case l.values > maxValues:
		l.err = fmt.Errorf("more than %d values", maxValues)
	}
	if l.err != nil {
		return 0, l.err
	}
	return n, err
}

// maxZone limits the zone of an address in bytes.
const maxZone = 64

// clean makes texts safe to print that come from a file.
func (r *Report) clean() {
	r.Device, r.Link, r.Gorxe = clean(r.Device, maxDetail), clean(r.Link, maxDetail), clean(r.Gorxe, maxDetail)
	// A zone can be any text.
	for _, a := range []*netip.Addr{&r.Address, &r.Local} {
		*a = a.WithZone(clean(a.Zone(), maxZone))
	}
	cleanValues(r.Traffic)
	for i := range r.Cases {
		c := &r.Cases[i]
		for _, s := range []*string{&c.ID, &c.Rule, &c.Source, &c.Program, &c.Detail} {
			*s = clean(*s, maxDetail)
		}
		c.Output = cleanLines(c.Output, maxOutput)
		cleanValues(c.Values)
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

func cleanValues(all []Value) {
	for i := range all {
		v := &all[i]
		v.Name, v.Unit = clean(v.Name, maxDetail), clean(v.Unit, maxDetail)
	}
}
