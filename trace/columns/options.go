package columns

import (
	"fmt"
	"strings"
)

// Options are the options that tshark has for its output of fields (option -E in its manual).
type Options struct {
	Header     bool       // the first line has the names of the fields
	Separator  byte       // between fields
	Occurrence Occurrence // which values of a field
	Aggregator byte       // between values of a field
	Quote      byte       // around the values of a field; 0 means none
}

// DefaultOptions returns the options of tshark: tabs between fields, all values of a field with
// commas between them, no header and no quotation marks.
func DefaultOptions() Options { return Options{Separator: '\t', Aggregator: ','} }

// Occurrence selects values of a field that a packet has several times.
type Occurrence uint8

const (
	All Occurrence = iota
	First
	Last
)

// Set sets an option from text, in the form of tshark -E: header=y|n, separator=/t|/s|CHARACTER,
// occurrence=f|l|a, aggregator=,|/s|CHARACTER or quote=d|s|n.
func (o *Options) Set(text string) error {
	name, value, _ := strings.Cut(text, "=")
	var err error
	switch name {
	case "header":
		o.Header, err = choose(value, map[string]bool{"y": true, "n": false})
	case "separator":
		o.Separator, err = character(value)
	case "aggregator":
		o.Aggregator, err = character(value)
	case "occurrence":
		o.Occurrence, err = choose(value, map[string]Occurrence{"f": First, "l": Last, "a": All})
	case "quote":
		o.Quote, err = choose(value, map[string]byte{"d": '"', "s": '\'', "n": 0})
	default:
		return fmt.Errorf("%q: the options are header=y|n, separator=CHARACTER, occurrence=f|l|a, "+
			"aggregator=CHARACTER and quote=d|s|n", text)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", text, err)
	}
	return nil
}

// choose returns the entry of all for value.
func choose[T any](value string, all map[string]T) (T, error) {
	v, ok := all[value]
	if !ok {
		return v, fmt.Errorf("%q is not one of its values", value)
	}
	return v, nil
}

// character parses a separator: /t is a tab, /s a space, and others stand for themselves.
func character(value string) (byte, error) {
	switch value {
	case "/t":
		return '\t', nil
	case "/s":
		return ' ', nil
	}
	if len(value) != 1 || value[0] < ' ' || value[0] > '~' {
		return 0, fmt.Errorf("give one ASCII character, /t for a tab or /s for a space")
	}
	return value[0], nil
}
