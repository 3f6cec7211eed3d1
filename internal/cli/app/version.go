package app

import (
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// Set by the linker if the source has no .git folder: see packaging/docker/Dockerfile.
var version, commit string

// archived is the text that git archive, and so a release tarball, contains: the commit and its
// refs.
//
//go:embed archive.txt
var archived string

func versionCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  NoArgs,
		RunE: func(*cobra.Command, []string) error {
			fmt.Fprint(a.Stdout, versionLine())
			return nil
		},
	}
}

func versionLine() string {
	v, c := build().String(), build().commit
	if c = shortCommit(c); c != "" && !strings.Contains(v, c) {
		v += ", commit " + c + ","
	}
	return fmt.Sprintf("gorxe %s (%s, %s/%s)\n", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// BuildVersion returns the version if the build knows it, otherwise the commit.
func BuildVersion() string { return build().String() }

func build() built {
	info, _ := debug.ReadBuildInfo()
	return builtFrom(version, commit, info, archived)
}

// built describes the source that the program was built from.
type built struct {
	version, commit string
	modified        bool
}

// builtFrom uses the values set by the linker, otherwise those of the go command, otherwise those
// of git archive.
func builtFrom(version, commit string, info *debug.BuildInfo, archived string) built {
	b := built{version: version, commit: commit}
	if version == "" && commit == "" && info != nil {
		if v := info.Main.Version; v != "(devel)" {
			b.version = v
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.commit = s.Value
			case "vcs.modified":
				b.modified = s.Value == "true"
			}
		}
	}
	if b.version != "" || b.commit != "" || strings.HasPrefix(archived, "$Format") {
		return b
	}
	b.commit, archived, _ = strings.Cut(strings.TrimSpace(archived), " ")
	for ref := range strings.SplitSeq(archived, ", ") {
		if tag, ok := strings.CutPrefix(ref, "tag: "); ok && strings.HasPrefix(tag, "v") {
			b.version = tag
		}
	}
	return b
}

// String returns the version, or the commit if there is no version.
func (b built) String() string {
	switch {
	case b.version != "":
		return b.version
	case b.commit == "":
		return "(devel)"
	case b.modified:
		return "(devel " + shortCommit(b.commit) + ", modified)"
	}
	return "(devel " + shortCommit(b.commit) + ")"
}

func shortCommit(c string) string { return c[:min(12, len(c))] }
