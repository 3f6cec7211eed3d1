package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
)

// Save writes the report to a file for Load.
func (r *Report) Save(file string) error {
	b, err := json.MarshalIndent(r, "", "\t")
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o644)
}

// Load loads reports that Save wrote and merges them, for example one for each kernel or
// condition. If two have the same cell, the result in the later file is used, with the failures
// of the earlier one. All versions are listed.
func Load(files ...string) (*Report, error) {
	var all *Report
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		var r Report
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if all == nil {
			all = &r
			continue
		}
		if all.group() != r.group() {
			return nil, fmt.Errorf("%s is of group %s, the files before it of group %s: render them apart", f,
				r.group(), all.group())
		}
		all.add(&r)
	}
	if all == nil {
		return nil, errors.New("no report to load")
	}
	return all, nil
}

// add merges a later report.
func (r *Report) add(later *Report) {
	r.Duration += later.Duration
	if !slices.Contains(strings.Split(string(r.Level), ", "), string(later.Level)) {
		r.Level += ", " + later.Level
	}
	for _, k := range later.Kernels {
		if !slices.Contains(r.Kernels, k) {
			r.Kernels = append(r.Kernels, k)
		}
	}
	for _, v := range later.Versions {
		if !slices.Contains(r.Versions, v) {
			r.Versions = append(r.Versions, v)
		}
	}
	again := map[string]int{}
	for i, c := range later.Results {
		again[c.ID] = i
	}
	r.Results = slices.DeleteFunc(r.Results, func(c Result) bool {
		i, ok := again[c.ID]
		if ok {
			tries := c.Before
			if !c.Passed() {
				tries = append(tries, strings.Join(c.Failures, "; "))
			}
			later.Results[i].Before = append(tries, later.Results[i].Before...)
		}
		return ok
	})
	r.Results = append(r.Results, later.Results...)
}
