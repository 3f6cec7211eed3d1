package hostile

import (
	"fmt"
	"regexp"
	"slices"
)

// Patterns returns all patterns, in the order in which they run.
func Patterns() []Pattern {
	return slices.Concat(strayPackets, requests, answers, messages, exchanges, reflections)
}

// Matching returns the patterns whose names match a regular expression.
func Matching(text string) (out []Pattern, err error) {
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, fmt.Errorf("which patterns to run: %w", err)
	}
	for _, p := range Patterns() {
		if re.MatchString(p.Name) {
			out = append(out, p)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no pattern's name matches %q: -list names them", text)
	}
	return out, nil
}
