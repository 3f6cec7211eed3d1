package main

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// All mutants of a package are compiled together, each behind a condition that is true if the
// environment names it, so the package is compiled only once. The tree itself is not changed; go
// gets the changed files in an overlay.

// variable is the environment variable that names the selected mutant, by its file and id.
const variable = "GORXE_MUTANT"

// chooser is a source file that is added to each package.
const chooser = `package %s

import "os"

var mutantOn = os.Getenv("` + variable + `")

func mutantIs(name string) bool { return mutantOn == name }
`

// name returns the value of variable that selects m.
func (m *mutant) name() string { return fmt.Sprintf("%s:%d", m.file, m.id) }

// instrument returns the source with all its mutants, each of which can be selected.
func instrument(src []byte, mutants []mutant) []byte {
	open, shut := map[int]string{}, map[int]string{}
	for i := range mutants {
		m := &mutants[i]
		on := fmt.Sprintf("mutantIs(%q)", m.name())
		// An enclosing mutant precedes those that it encloses.
		open[m.begin] += fill(m.before, on)
		shut[m.end] = fill(m.after, on) + shut[m.end]
	}
	var out strings.Builder
	for i := range len(src) + 1 {
		out.WriteString(shut[i])
		out.WriteString(open[i])
		if i < len(src) {
			out.WriteByte(src[i])
		}
	}
	return []byte(out.String())
}

func fill(format, on string) string {
	if !strings.Contains(format, "%") {
		return format
	}
	return fmt.Sprintf(format, on)
}

// overlay writes instrumented copies of all files with mutants, below root, to the folder
// scratch, and returns the list of them for go's -overlay.
func overlay(root, scratch string, mutants []mutant) (list string, err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	put := func(name string, text []byte) error {
		copied := filepath.Join(scratch, fmt.Sprintf("%d.go", len(replace)))
		replace[filepath.Join(root, filepath.FromSlash(name))] = copied
		return os.WriteFile(copied, text, 0o600)
	}
	files := map[string][]mutant{}
	for _, m := range mutants {
		files[m.file] = append(files[m.file], m)
	}
	packages := map[string]string{}
	for name, list := range files {
		src, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return "", err
		}
		if err := put(name, instrument(src, list)); err != nil {
			return "", err
		}
		tree, err := parser.ParseFile(token.NewFileSet(), name, src, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		packages[path.Dir(name)] = tree.Name.Name
	}
	for dir, name := range packages {
		if err := put(path.Join(dir, "mutant_chooser.go"), fmt.Appendf(nil, chooser, name)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list = filepath.Join(scratch, "overlay.json")
	return list, os.WriteFile(list, text, 0o600)
}
