package conformance

import "testing"

func TestVerdictsAndLevelsAreTextAndBack(t *testing.T) {
	for v := range Verdicts {
		text, err := v.MarshalText()
		var back Verdict
		if err != nil || back.UnmarshalText(text) != nil || back != v {
			t.Errorf("%v: %q, %v, back %v", v, text, err, back)
		}
	}
	for l := Shall; l <= Observed; l++ {
		text, err := l.MarshalText()
		var back Level
		if err != nil || back.UnmarshalText(text) != nil || back != l {
			t.Errorf("%v: %q, %v, back %v", l, text, err, back)
		}
	}
	var v Verdict
	var l Level
	if v.UnmarshalText([]byte("?")) == nil || l.UnmarshalText([]byte("may")) == nil {
		t.Error("a name that does not exist was accepted")
	}
	if _, err := Verdicts.MarshalText(); err == nil {
		t.Error("a verdict that does not exist has a name")
	}
}
