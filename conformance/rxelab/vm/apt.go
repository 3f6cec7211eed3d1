package vm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	defaultMirror = "http://deb.debian.org/debian"
	keyring       = "/usr/share/keyrings/debian-archive-keyring.gpg"
)

// apt runs the package tools with private sources and lists.
type apt struct {
	dir     string
	options []string
}

func newApt(dir, suite string) (*apt, error) {
	lists := filepath.Join(dir, "lists")
	archives := filepath.Join(dir, "cache")
	for _, d := range []string{filepath.Join(lists, "partial"), filepath.Join(archives, "archives", "partial")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(keyring); err != nil {
		return nil, fmt.Errorf("no keyring of Debian's archive (%w): install the package debian-archive-keyring", err)
	}
	sources := filepath.Join(dir, "sources.list")
	line := fmt.Sprintf("deb [arch=amd64 signed-by=%s] %s %s main\n", keyring, mirror("/etc/apt"), suite)
	if err := os.WriteFile(sources, []byte(line), 0o644); err != nil {
		return nil, err
	}
	a := &apt{dir: dir}
	for _, o := range []string{
		"Dir::Etc::SourceList=" + sources, "Dir::Etc::SourceParts=/dev/null",
		"Dir::State::Lists=" + lists, "Dir::Cache=" + archives,
		"Acquire::Languages=none", "Acquire::Retries=3", "APT::Sandbox::User=root", "APT::Architecture=amd64",
		"APT::Get::List-Cleanup=0",
	} {
		a.options = append(a.options, "-o", o)
	}
	return a, nil
}

func (a *apt) run(ctx context.Context, tool string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, tool, append(append([]string{}, a.options...), args...)...)
	cmd.Dir = a.dir
	var msg strings.Builder
	cmd.Stderr = &msg
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", tool, strings.Join(args, " "), err, strings.TrimSpace(msg.String()))
	}
	return string(out), nil
}

// dependency resolves a meta package to the kernel package.
func (a *apt) dependency(ctx context.Context, meta string) (string, error) {
	out, err := a.run(ctx, "apt-cache", "depends", meta)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "Depends:" && strings.HasPrefix(f[1], "linux-image-") {
			return f[1], nil
		}
	}
	return "", fmt.Errorf("apt-cache knows no kernel behind %s", meta)
}

// mirror returns the first Debian archive in the apt configuration of this host, so that a local
// mirror is used.
func mirror(etc string) string {
	var files []string
	for _, p := range []string{"sources.list.d/*.sources", "sources.list.d/*.list", "sources.list"} {
		if m, err := filepath.Glob(filepath.Join(etc, p)); err == nil {
			files = append(files, m...)
		}
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(b)) {
			words := strings.Fields(line)
			if len(words) == 0 || words[0] != "URIs:" && words[0] != "deb" {
				continue
			}
			for _, w := range words[1:] {
				if u := strings.TrimSuffix(w, "/"); strings.HasPrefix(u, "http") && strings.HasSuffix(u, "/debian") {
					return u
				}
			}
		}
	}
	return defaultMirror
}
