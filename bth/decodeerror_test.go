package bth_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

func TestReasonsAreDistinctCounterNames(t *testing.T) {
	counter := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for r := range bth.Reason(bth.NumReasons) {
		name := r.String()
		if !counter.MatchString(name) || seen[name] {
			t.Errorf("reason %d is called %q", r, name)
		}
		seen[name] = true
		text := (&bth.DecodeError{Reason: r}).Error()
		if seen[text] || text == "bth: packet refused: " {
			t.Errorf("reason %s reads %q", r, text)
		}
		seen[text] = true
	}
}

func TestReasonOutOfRange(t *testing.T) {
	r := bth.Reason(bth.NumReasons)
	if r.String() != "unknown" {
		t.Errorf("String = %q", r)
	}
	if got := (&bth.DecodeError{Reason: r}).Error(); got != "bth: packet refused" {
		t.Errorf("Error = %q", got)
	}
}

func TestReasonOf(t *testing.T) {
	refused := &bth.DecodeError{Reason: bth.ReasonPad}
	tests := []struct {
		name string
		err  error
		want bth.Reason
	}{
		{"no error", nil, bth.ReasonNone},
		{"a refusal", refused, bth.ReasonPad},
		{"a nil refusal", (*bth.DecodeError)(nil), bth.ReasonNone},
		{"another error", errors.New("other"), bth.ReasonNone},
		{"a wrapped refusal is not looked into", fmt.Errorf("wrapped: %w", refused), bth.ReasonNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := bth.ReasonOf(tt.err); got != tt.want {
				t.Errorf("ReasonOf = %s, want %s", got, tt.want)
			}
		})
	}
}
