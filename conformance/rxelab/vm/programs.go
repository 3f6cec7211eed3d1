package vm

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Programs is a tree with programs of a Debian release and their dependencies: a root directory
// to run them in.
type Programs struct {
	Suite    string // name of the Debian release
	Root     string // path of the tree
	Packages []Package
}

// Package is a Debian package with its version.
type Package struct{ Name, Version string }

// merged are the directories that are symbolic links into /usr on a Debian system.
var merged = []string{"bin", "sbin", "lib", "lib64"}

// FetchPrograms returns the suite's packages, unpacked with their dependencies, from the cache
// directory. It fetches missing ones with apt, without root. step, if not nil, is called before
// slow steps.
func FetchPrograms(ctx context.Context, cache, suite string, packages []string, step func(string)) (*Programs, error) {
	if step == nil {
		step = func(string) {}
	}
	dir := filepath.Join(cache, "programs", suite)
	open := func() (*Programs, error) { return openPrograms(dir, suite, packages) }
	return fetched(cache, dir, suite, open, func(a *apt, ready string) error {
		debs, err := a.closure(ctx, packages, step)
		if err != nil {
			return err
		}
		step(fmt.Sprintf("unpacking %d packages", len(debs)))
		if err := unpackAll(ctx, debs, filepath.Join(ready, "root")); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(ready, doneFile), []byte(describePackages(debs, packages)), 0o644)
	})
}

// closure downloads packages and all their dependencies, as for an empty system.
func (a *apt) closure(ctx context.Context, packages []string, step func(string)) ([]string, error) {
	status := filepath.Join(a.dir, "status")
	if err := os.WriteFile(status, nil, 0o644); err != nil {
		return nil, err
	}
	a.options = append(a.options, "-o", "Dir::State::status="+status, "-o", "APT::Install-Recommends=0", "-o",
		"Debug::NoLocking=1")
	step("reading the package lists")
	if _, err := a.run(ctx, "apt-get", "update", "-qq"); err != nil {
		return nil, err
	}
	step("downloading " + strings.Join(packages, ", "))
	if _, err := a.run(ctx, "apt-get",
		append([]string{"install", "--download-only", "-y", "-qq"}, packages...)...); err != nil {
		return nil, err
	}
	return filepath.Glob(filepath.Join(a.dir, "cache", "archives", "*.deb"))
}

func unpackAll(ctx context.Context, debs []string, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	for _, d := range debs {
		if err := unpackDeb(ctx, d, root); err != nil {
			return err
		}
	}
	for _, name := range merged {
		err := os.Symlink(filepath.Join("usr", name), filepath.Join(root, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// describePackages returns the content of doneFile: a line for each requested package.
func describePackages(debs, packages []string) string {
	var b strings.Builder
	for _, name := range packages {
		for _, d := range debs {
			if p := packageOf(d); p.Name == name {
				fmt.Fprintln(&b, p.Name, p.Version)
			}
		}
	}
	return b.String()
}

// packageOf parses the name of a package file from apt: NAME_VERSION_ARCH.deb, with an escaped
// colon after the epoch.
func packageOf(deb string) Package {
	parts := strings.Split(filepath.Base(deb), "_")
	if len(parts) != 3 {
		return Package{Name: parts[0]}
	}
	version, err := url.PathUnescape(parts[1])
	if err != nil {
		version = parts[1]
	}
	return Package{parts[0], version}
}

// openPrograms opens a tree in the cache. It removes a tree with other packages and treats it as
// absent.
func openPrograms(dir, suite string, packages []string) (*Programs, error) {
	b, err := os.ReadFile(filepath.Join(dir, doneFile))
	if err != nil {
		return nil, err
	}
	p := &Programs{Suite: suite, Root: filepath.Join(dir, "root")}
	var names []string
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 2 {
			p.Packages = append(p.Packages, Package{f[0], f[1]})
			names = append(names, f[0])
		}
	}
	if !slices.Equal(names, packages) {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		return nil, fs.ErrNotExist
	}
	return p, nil
}

// Equip prepares the tree as a root directory in the machine: a program runs in it with chroot
// Root PROGRAM.
func (p *Programs) Equip(ctx context.Context, s *Session) error {
	for _, d := range []string{"dev", "proc", "sys", "tmp", "run"} {
		target := filepath.Join(p.Root, d)
		if _, err := s.Run(ctx, "mkdir", "-p", target); err != nil {
			return err
		}
		if _, err := s.Run(ctx, "mount", "--rbind", "/"+d, target); err != nil {
			return err
		}
	}
	return nil
}

// Command returns the command line that runs argv in the tree.
func (p *Programs) Command(argv []string) []string {
	return append([]string{"chroot", p.Root}, argv...)
}
