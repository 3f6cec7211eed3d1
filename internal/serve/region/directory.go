package region

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Directory is the contents of the region without a name, encoded as JSON.
type Directory struct {
	Regions []Entry `json:"regions"`
}

// Entry describes a region in a [Directory].
type Entry struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`   // such as "anonymous", "file", "shm"
	Length uint64   `json:"length"` // in bytes
	Access []string `json:"access"` // of "read", "write", "atomic"
}

// maxDirectory is the maximum length of a directory that a client reads, in bytes.
const maxDirectory = 16 << 20

// Limits of the contents of a directory of maxDirectory bytes: short entries use many times the
// memory of their text.
const (
	maxEntries   = 1 << 16
	maxEntryText = 4 << 10 // bytes
)

// parseDirectory decodes a directory, entry by entry. It checks the text, which is displayed in
// terminals.
func parseDirectory(text []byte) (*Directory, error) {
	p := directoryParser{dec: json.NewDecoder(bytes.NewReader(text))}
	if err := p.parse(); err != nil {
		return nil, fmt.Errorf("%w: its directory: %w", ErrProtocol, err)
	}
	return &p.d, nil
}

type directoryParser struct {
	dec *json.Decoder
	d   Directory
}

func (p *directoryParser) parse() error {
	if err := p.expect('{'); err != nil {
		return err
	}
	for p.dec.More() {
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		if name, _ := key.(string); strings.EqualFold(name, "regions") {
			err = p.regions()
		} else {
			err = p.dec.Decode(&json.RawMessage{}) // from another version
		}
		if err != nil {
			return err
		}
	}
	if err := p.expect('}'); err != nil {
		return err
	}
	if _, err := p.dec.Token(); err != io.EOF {
		return cmp.Or(err, errors.New("something follows it"))
	}
	return nil
}

func (p *directoryParser) expect(want json.Delim) error {
	t, err := p.dec.Token()
	if err != nil {
		return err
	}
	if t != want {
		// The token is not displayed, because it can be anything.
		return fmt.Errorf("something else is in the place of %q", rune(want))
	}
	return nil
}

func (p *directoryParser) regions() error {
	if err := p.expect('['); err != nil {
		return err
	}
	p.d.Regions = []Entry{}
	for p.dec.More() {
		if len(p.d.Regions) == maxEntries {
			return fmt.Errorf("it has more than %d regions", maxEntries)
		}
		var text json.RawMessage
		if err := p.dec.Decode(&text); err != nil {
			return err
		}
		if len(text) > maxEntryText {
			return fmt.Errorf("an entry has %d bytes, this end reads %d", len(text), maxEntryText)
		}
		var e Entry
		if err := json.Unmarshal(text, &e); err != nil {
			return err
		}
		if err := e.check(); err != nil {
			return err
		}
		p.d.Regions = append(p.d.Regions, e)
	}
	return p.expect(']')
}

func (e *Entry) check() error {
	for _, word := range append([]string{e.Name, e.Kind}, e.Access...) {
		if err := CheckName(word); err != nil {
			return err
		}
	}
	return nil
}
