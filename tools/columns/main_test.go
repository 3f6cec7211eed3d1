package main

import (
	"slices"
	"strings"
	"testing"
)

func TestLongLinesAreReported(t *testing.T) {
	word, long, x := strings.Repeat("x", 59), strings.Repeat("l", 118), strings.Repeat("x ", 60)
	for _, tt := range []struct {
		rule, src string
		want      []longLine
	}{
		{"code of 120 columns is accepted", "var a = " + strings.Repeat("b", 112), nil},
		{"code of 121 columns is reported", "var a = " + strings.Repeat("b", 113), []longLine{{1, 121, 120}}},
		{"a tab ends at a multiple of four columns", "\n\t\t \tb = " + strings.Repeat("c", 105),
			[]longLine{{2, 121, 120}}},
		{"a comment of 100 columns is accepted", "// " + x[:97], nil},
		{"a comment of 101 columns is reported", "// " + x[:98], []longLine{{1, 101, 100}}},
		{"a comment with a long word is accepted", "// " + x + " https://" + word, nil},
		{"a directive is accepted", "//go:generate " + x, nil},
		{"the output of an example is accepted, and nothing behind it", "// Output:\n// " + x + "\n}\n// " + x[:98],
			[]longLine{{4, 101, 100}}},
		{"a line with a string that is too long for a line is accepted", "var a, b = 1, \"" + long + "\"", nil},
		{"a line with a string that fits into a line is reported", "var a, b = 1, \"" + long[:111] + "\"",
			[]longLine{{1, 127, 120}}},
		{"the string may begin the line", "\"" + long[:115] + "\", a)", []longLine{{1, 121, 120}}},
		{"a line with short strings is reported", "var a = f(" + strings.Repeat(`"dddddddd", `, 10) + ")",
			[]longLine{{1, 131, 120}}},
		{"lines of a raw string are accepted", "var a = `\n" + x + x + "\n`", nil},
		{"the value of a key stays behind it", "var a = m{\"" + word + "\": \"" + long[:50] + "\"}", nil},
		{"the first line of a raw string is reported", "var a = 1 " + strings.Repeat("+ 1 ", 28) + "+ `\n`",
			[]longLine{{1, 125, 120}}},
		{"characters are counted, not bytes", "var a = " + strings.Repeat("µ", 112), nil},
		{"a comment behind code counts as code", "var a = b // " + strings.Repeat("c ", 54), []longLine{{1, 121, 120}}},
	} {
		t.Run(tt.rule, func(t *testing.T) {
			if got := check([]byte("package a\n" + tt.src)); !slices.Equal(got, shifted(tt.want)) {
				t.Errorf("%v, want %v", got, shifted(tt.want))
			}
		})
	}
}

// shifted returns lines behind the package clause.
func shifted(lines []longLine) (out []longLine) {
	for _, l := range lines {
		l.number++
		out = append(out, l)
	}
	return out
}
