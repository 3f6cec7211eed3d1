package region

import (
	"encoding/json"
	"fmt"
)

// Directory is what the region without a name has in it, as JSON.
type Directory struct {
	Regions []Entry `json:"regions"`
}

// Entry is a region in a [Directory].
type Entry struct {
	Name   string   `json:"name"`
	Kind   string   `json:"kind"`   // such as "anonymous", "file", "shm"
	Length uint64   `json:"length"` // in bytes
	Access []string `json:"access"` // of "read", "write", "atomic"
}

// maxDirectory is the longest directory that a client reads, in bytes.
const maxDirectory = 16 << 20

// parseDirectory reads a directory. Its words are for people's terminals, so they are checked.
func parseDirectory(text []byte) (*Directory, error) {
	var d Directory
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, fmt.Errorf("%w: its directory: %w", ErrProtocol, err)
	}
	for i := range d.Regions {
		e := &d.Regions[i]
		for _, word := range append([]string{e.Name, e.Kind}, e.Access...) {
			if err := CheckName(word); err != nil {
				return nil, fmt.Errorf("%w: its directory: %w", ErrProtocol, err)
			}
		}
	}
	return &d, nil
}
