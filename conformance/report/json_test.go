package report_test

import (
	"bytes"
	stdjson "encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/report"
	"github.com/gorxe/gorxe/internal/golden"
)

func schema(t *testing.T) *jsonschema.Schema { return schemaOf(t, "") }

// schemaOf compiles a part of the schema.
func schemaOf(t *testing.T, part string) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(report.Schema))
	must(t, err)
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	must(t, c.AddResource("schema.json", doc))
	s, err := c.Compile("schema.json" + part)
	must(t, err)
	return s
}

func jsonOf(t *testing.T, r *report.Report) string {
	t.Helper()
	var b bytes.Buffer
	must(t, r.WriteJSON(&b))
	return b.String()
}

func valid(t *testing.T, s *jsonschema.Schema, text string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	must(t, err)
	return s.Validate(v)
}

func TestReportsObeyTheSchema(t *testing.T) {
	s := schema(t)
	for name, r := range map[string]*report.Report{
		"all verdicts": sample("A"), "all packets": report.New(header("A"), results(), report.Options{KeepAll: true}),
		"no case": report.New(header("A"), nil, report.Options{}),
		"hostile": report.New(header("A"), hostile(), report.Options{KeepAll: true}),
	} {
		if err := valid(t, s, jsonOf(t, r)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	r := sample("device A")
	for i := range r.Cases {
		r.Cases[i].Pcapng = nil // TestACaptureOfAFailure reads it
	}
	golden.Check(t, "report.golden.json", jsonOf(t, r))
}

// Without this test the others would pass with a schema that allows everything.
func TestTheSchemaRefuses(t *testing.T) {
	s := schema(t)
	text := jsonOf(t, sample("A"))
	for _, c := range []struct{ name, old, with string }{
		{"an unknown member", `"level":`, `"depth": 1, "level":`},
		{"another verdict", `"verdict": "fail"`, `"verdict": "failed"`},
		{"a level that is none", `"level": "should"`, `"level": "may"`},
		{"another format", `"format": 1`, `"format": 2`},
		{"a PSN of 25 bits", `"psn": 102`, `"psn": 16777216`},
		{"an ID without a number", `"psn/3"`, `"psn"`},
		{"a time that is none", `"2026-11-29T`, `"26-11-29T`},
	} {
		changed := strings.Replace(text, c.old, c.with, 1)
		if changed == text {
			t.Fatalf("%s: %q does not stand in %s", c.name, c.old, text)
		}
		if valid(t, s, changed) == nil {
			t.Errorf("%s is valid", c.name)
		}
	}
}

func TestEveryMemberOfTheSchemaIsDescribed(t *testing.T) {
	var doc any
	must(t, stdjson.Unmarshal(report.Schema, &doc))
	var walk func(path string, v any)
	walk = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		properties, _ := m["properties"].(map[string]any)
		for name, p := range properties {
			if p.(map[string]any)["description"] == nil {
				t.Errorf("%s/%s has no description", path, name)
			}
		}
		for name, v := range m {
			walk(path+"/"+name, v)
		}
	}
	walk("", doc)
}

func TestAReportIsReadAsItWasWritten(t *testing.T) {
	for _, r := range []*report.Report{sample("A"), report.New(header("A"), hostile(), report.Options{KeepAll: true})} {
		back, err := report.Read(strings.NewReader(jsonOf(t, r)))
		must(t, err)
		if d := cmp.Diff(r, back, cmpopts.EquateEmpty(), cmpopts.EquateComparable(header("").Address),
			cmpopts.IgnoreUnexported(report.Report{})); d != "" {
			t.Error(d)
		}
	}
}

func TestReadRefusesWhatIsNoReport(t *testing.T) {
	for text, want := range map[string]string{
		"":   "the file is empty; write it with 'gorxe conform HOST --json'",
		"x":  "this is not the output of 'gorxe conform HOST --json'",
		"{}": "format 0: this gorxe reads format 1",
		`{"format":1,"cases":[{"id":"psn/1","verdict":"?"}]}`:                                    `"?" is no verdict`,
		`{"format":1,"cases":[{"id":"psn/1"}]}`:                                                  "case psn/1 has no verdict",
		`{"format":1,"cases":[{"verdict":"pass"}]}`:                                              `case 1: "" is no ID such as psn/3`,
		`{"format":1,"cases":[{"id":"../x/1","verdict":"pass"}]}`:                                `case 1: "../x/1" is no ID`,
		`{"format":1,"cases":[{"id":"psn/1\n","verdict":"pass"}]}`:                               "is no ID",
		`{"format":1,"cases":[` + strings.Repeat(`{"id":"psn/1","verdict":"pass"},`, 2) + `{}]}`: "two cases psn/1",
		`{"format":1,"cases":[{"id":"psn/` + strings.Repeat("1", 99) + `","verdict":"pass"}]}`:   "is no ID",
		`{"format":1,"cases":` + strings.Repeat("[", 1<<15):                                      "exceeded max depth",
		`{"format":1,"cases":[` + strings.Repeat("{},", 1<<20):                                   "more than 1048576 values",
		`{"format":1,"cases":[{"id":"psn/1","verdict":"fail","packets":[` + strings.Repeat("{},", 1<<17) + `{}]}]}`: "more than " +
			"131072 packets",
	} {
		if _, err := report.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.99q: %v, want %s", text, err, want)
		}
	}
}

func TestTextsOfAFileAreSafeToPrint(t *testing.T) {
	r, err := report.Read(strings.NewReader(`{"format":1,"device":"a\u001b[31m","cases":[{"id":"psn/1","verdict":"pass",
		"detail":"x\u0007\ny","output":"a\nb\u001b"}]}`))
	must(t, err)
	if c := r.Cases[0]; r.Device != "a\ufffd[31m" || c.Detail != "x\ufffd y" || c.Output != "a\nb\ufffd" {
		t.Errorf("%+v", r)
	}
}

// Commas and braces within strings are no values.
func TestTheLimitOfValuesDoesNotCountTexts(t *testing.T) {
	text := `{"format":1,"cases":[],"device":"\\\"` + strings.Repeat(",{[", 1<<20) + `"}`
	if _, err := report.Read(strings.NewReader(text)); err != nil {
		t.Error(err)
	}
}

func TestAZoneOfAFileIsSafeToPrint(t *testing.T) {
	r, err := report.Read(strings.NewReader(`{"format":1,"address":"fe80::1%a\n# b","local":"192.0.2.1","cases":[]}`))
	must(t, err)
	var b bytes.Buffer
	must(t, report.WriteMarkdown(&b, r))
	if strings.Contains(b.String(), "\n# b") || r.Local.String() != "192.0.2.1" {
		t.Error(b.String())
	}
}

func TestMarkdownMakesNoMarkupOfTexts(t *testing.T) {
	r := report.New(header(`\[a\](http://192.0.2.9/) \| \*b\* \<i>`), nil, report.Options{})
	var b bytes.Buffer
	must(t, report.WriteMarkdown(&b, r))
	if want := `| \\\[a\\\](http://192.0.2.9/) \\\| \\\*b\\\* \\&lt;i&gt; |`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s in\n%s", want, b.String())
	}
}

func TestTheListOfCasesObeysTheSchema(t *testing.T) {
	list := []*conformance.Case{aCase("psn/1", conformance.Shall), aCase("header/2", conformance.Should)}
	list[1].Raw = true
	var b bytes.Buffer
	must(t, report.WriteList(&b, list))
	err := valid(t, schemaOf(t, "#/$defs/list"), b.String())
	if err != nil || !strings.Contains(b.String(), `"raw": true`) {
		t.Errorf("%v\n%s", err, b.String())
	}
}
