package region

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode"
)

func TestADirectoryIsBounded(t *testing.T) {
	entries := func(n int) string {
		return `{"regions":[` + strings.TrimSuffix(strings.Repeat(`{"name":"a","kind":"b"},`, n), ",") + `]}`
	}
	for _, n := range []int{0, 1, maxEntries} {
		d, err := parseDirectory([]byte(entries(n)))
		if err != nil || len(d.Regions) != n || d.Regions == nil {
			t.Errorf("%d regions: %v", n, err)
		}
	}
	for name, text := range map[string]string{
		"one region too many": entries(maxEntries + 1),
		"a long entry": `{"regions":[{"name":"a","kind":"b","access":["` +
			strings.Repeat(`a","`, maxEntryText/4) + `a"]}]}`,
		"a deep one":             `{"regions":` + strings.Repeat("[", 1<<20),
		"a deep unknown":         `{"more":` + strings.Repeat("[", 1<<20),
		"something behind":       `{"regions":[]} {}`,
		"a number":               `{"regions":1}`,
		"a word for the list":    `{"regions":"\u001b[2J"}`,
		"a word for all":         `"\u001b[2J"`,
		"it ends too early":      `{"regions":[{"name":"a","kind":"b"}`,
		"the entry is not whole": `{"regions":[{"name":"a"`,
	} {
		_, err := parseDirectory([]byte(text))
		if !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := fmt.Sprint(err); len(s) > 1000 || strings.ContainsFunc(s, unicode.IsControl) {
			t.Errorf("%s: the error shows what the server sent: %.200q", name, s)
		}
	}
}

func TestADirectoryOfALaterVersionIsRead(t *testing.T) {
	d, err := parseDirectory([]byte(
		`{"version":{"of":[2]},"regions":[{"name":"a","kind":"b","more":[{}]}],"end":null}` + "\n"))
	if err != nil || len(d.Regions) != 1 || d.Regions[0].Name != "a" {
		t.Errorf("%+v, %v", d, err)
	}
}
