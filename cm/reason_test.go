package cm_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/gorxe/gorxe/cm"
)

func TestReasonsAreDistinctCounterNames(t *testing.T) {
	counter := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for r := range cm.Reason(cm.NumReasons) {
		name, text := r.String(), (&cm.DecodeError{Reason: r}).Error()
		if !counter.MatchString(name) || seen[name] {
			t.Errorf("reason %d is called %q", r, name)
		}
		if text == "cm: message refused: " || seen[text] {
			t.Errorf("reason %s reads %q", r, text)
		}
		seen[name], seen[text] = true, true
	}
	beyond := cm.Reason(cm.NumReasons)
	if got := beyond.String(); got != "unknown" {
		t.Errorf("String = %q", got)
	}
	if got := (&cm.DecodeError{Reason: beyond}).Error(); got != "cm: message refused" {
		t.Errorf("Error = %q", got)
	}
}

func TestReasonOf(t *testing.T) {
	refused := &cm.DecodeError{Reason: cm.ReasonClass}
	for _, tt := range []struct {
		name string
		err  error
		want cm.Reason
	}{
		{"no error", nil, cm.ReasonNone},
		{"a refusal", refused, cm.ReasonClass},
		{"a nil refusal", (*cm.DecodeError)(nil), cm.ReasonNone},
		{"another error", errors.New("other"), cm.ReasonNone},
		{"a wrapped refusal is not looked into", fmt.Errorf("wrapped: %w", refused), cm.ReasonNone},
	} {
		if got := cm.ReasonOf(tt.err); got != tt.want {
			t.Errorf("%s: ReasonOf = %s, want %s", tt.name, got, tt.want)
		}
	}
}
