package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// selection selects the mutants to try.
type selection struct {
	files, kinds      []string       // empty: all
	match             *regexp.Regexp // pattern of their descriptions; nil: all
	maxMutantsPerFile int            // maximum number for each file; 0: all
}

// mutants returns the selected mutants of the packages in the folders dirs below root.
func (s *selection) mutants(root string, dirs []string) (out []mutant, err error) {
	for _, dir := range dirs {
		dir = path.Clean(filepath.ToSlash(dir))
		names, err := filepath.Glob(filepath.Join(root, dir, "*.go"))
		if err != nil {
			return nil, err
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("%s: no Go files", dir)
		}
		for _, name := range names {
			base := filepath.Base(name)
			if strings.HasSuffix(base, "_test.go") || len(s.files) > 0 && !slices.Contains(s.files, base) {
				continue
			}
			src, err := os.ReadFile(name)
			if err != nil {
				return nil, err
			}
			list, err := enumerate(path.Join(dir, base), src)
			if err != nil {
				return nil, err
			}
			if len(s.kinds) > 0 {
				list = slices.DeleteFunc(list, func(m mutant) bool { return !slices.Contains(s.kinds, m.kind) })
			}
			if s.match != nil {
				list = slices.DeleteFunc(list, func(m mutant) bool { return !s.match.MatchString(m.String()) })
			}
			list = spread(list, s.maxMutantsPerFile)
			for i := range list {
				list[i].id = i + 1
			}
			out = append(out, list...)
		}
	}
	return out, nil
}

// spread returns at most n elements of list, evenly spread; n 0: all.
func spread(list []mutant, n int) []mutant {
	if n <= 0 || n >= len(list) {
		return list
	}
	out := make([]mutant, n)
	for i := range out {
		out[i] = list[(2*i+1)*len(list)/(2*n)]
	}
	return out
}
