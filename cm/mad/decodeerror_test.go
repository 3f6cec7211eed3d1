package mad_test

import (
	"errors"
	"fmt"
	"regexp"
	"testing"

	"github.com/gorxe/gorxe/cm/mad"
)

func TestReasonsAreDistinctCounterNames(t *testing.T) {
	counter := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	seen := map[string]bool{}
	for r := range mad.Reason(mad.NumReasons) {
		name, text := r.String(), (&mad.DecodeError{Reason: r}).Error()
		if !counter.MatchString(name) || seen[name] {
			t.Errorf("reason %d is called %q", r, name)
		}
		if text == "cm: message refused: " || seen[text] {
			t.Errorf("reason %s reads %q", r, text)
		}
		seen[name], seen[text] = true, true
	}
	beyond := mad.Reason(mad.NumReasons)
	if got := beyond.String(); got != "unknown" {
		t.Errorf("String = %q", got)
	}
	if got := (&mad.DecodeError{Reason: beyond}).Error(); got != "cm: message refused" {
		t.Errorf("Error = %q", got)
	}
}

func TestReasonOf(t *testing.T) {
	refused := &mad.DecodeError{Reason: mad.ReasonClass}
	for _, tt := range []struct {
		name string
		err  error
		want mad.Reason
	}{
		{"no error", nil, mad.ReasonNone},
		{"a refusal", refused, mad.ReasonClass},
		{"a nil refusal", (*mad.DecodeError)(nil), mad.ReasonNone},
		{"another error", errors.New("other"), mad.ReasonNone},
		{"a wrapped refusal is not looked into", fmt.Errorf("wrapped: %w", refused), mad.ReasonNone},
	} {
		if got := mad.ReasonOf(tt.err); got != tt.want {
			t.Errorf("%s: ReasonOf = %s, want %s", tt.name, got, tt.want)
		}
	}
}
