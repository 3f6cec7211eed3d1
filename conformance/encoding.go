package conformance

import "fmt"

// MarshalText returns the name of v.
func (v Verdict) MarshalText() ([]byte, error) {
	if v >= Verdicts {
		return nil, fmt.Errorf("verdict %d does not exist", uint8(v))
	}
	return []byte(v.String()), nil
}

// UnmarshalText parses the result of MarshalText.
func (v *Verdict) UnmarshalText(text []byte) error {
	for w := range Verdicts {
		if w.String() == string(text) {
			*v = w
			return nil
		}
	}
	return fmt.Errorf("%q is no verdict", text)
}

// MarshalText returns the name of l.
func (l Level) MarshalText() ([]byte, error) {
	if l > Observed {
		return nil, fmt.Errorf("level %d does not exist", uint8(l))
	}
	return []byte(l.String()), nil
}

// UnmarshalText parses the result of MarshalText.
func (l *Level) UnmarshalText(text []byte) error {
	for m := Shall; m <= Observed; m++ {
		if m.String() == string(text) {
			*l = m
			return nil
		}
	}
	return fmt.Errorf("%q is no level", text)
}
