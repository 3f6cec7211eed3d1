package tracecmd

import "testing"

func TestALinkSpeedIsANumberWithASuffix(t *testing.T) {
	for text, want := range map[string]float64{
		"100G": 100e9, "2.5G": 2.5e9, "1000": 1000, "400k": 400e3, "10M": 10e6, "1T": 1e12,
		"": 0, "G": 0, "-1G": 0, "0": 0, "NaN": 0, "inf": 0, "1e300": 0, "100Gbit": 0,
	} {
		got, err := parseSpeed(text)
		if (err == nil) != (want > 0) || err == nil && got != want {
			t.Errorf("%q: %v, %v, want %v", text, got, err, want)
		}
	}
}
