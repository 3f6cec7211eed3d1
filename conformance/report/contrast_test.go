package report_test

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// luminance returns the relative luminance of a colour (WCAG 2.2).
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	must(t, err)
	linear := func(c uint64) float64 {
		v := float64(c&0xff) / 255
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}

func TestTextStandsOutInBothThemes(t *testing.T) {
	style, err := os.ReadFile("page/style.css")
	must(t, err)
	light, rest, _ := strings.Cut(string(style), "@media (prefers-color-scheme: dark)")
	dark, _, _ := strings.Cut(rest, "* {")
	for theme, block := range map[string]string{"light": light, "dark": dark} {
		c := map[string]string{}
		for _, m := range regexp.MustCompile(`--(\w+): (#[0-9a-f]{6})`).FindAllStringSubmatch(block, -1) {
			c[m[1]] = m[2]
		}
		for _, behind := range []string{"back", "panel", "mark"} {
			for _, text := range []string{"text", "quiet", "focus", "pass", "fail", "warn", "unclear", "observed",
				"none"} {
				a, b := luminance(t, c[text]), luminance(t, c[behind])
				if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < 4.5 {
					t.Errorf("%s: %s on %s has contrast %.2f, less than 4.5", theme, text, behind, ratio)
				}
			}
		}
	}
}
