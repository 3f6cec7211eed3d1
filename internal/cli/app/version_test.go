package app

import (
	"os/exec"
	"regexp"
	"runtime/debug"
	"testing"
)

func TestTheVersionIsKnownFromEveryKindOfSource(t *testing.T) {
	const hash = "fa7a56f0123456789abcdef0123456789abcdef0"
	vcs := func(modified string) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: "(devel)"},
			Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: hash}, {Key: "vcs.modified", Value: modified}}}
	}
	module := &debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}
	const notArchived = "$Format:%H %D$\n"
	for name, c := range map[string]struct {
		version, commit string
		info            *debug.BuildInfo
		archived        string
		want            string
		commitWanted    string
	}{
		"nothing":                 {"", "", nil, notArchived, "(devel)", ""},
		"go install of a version": {"", "", module, notArchived, "v1.2.3", ""},
		"a checkout":              {"", "", vcs("false"), notArchived, "(devel fa7a56f01234)", hash},
		"a changed checkout":      {"", "", vcs("true"), notArchived, "(devel fa7a56f01234, modified)", hash},
		"the linker":              {"v1.2.3-4-gfa7a56f", hash, vcs("true"), notArchived, "v1.2.3-4-gfa7a56f", hash},
		"a commit by the linker":  {"", hash, module, notArchived, "(devel fa7a56f01234)", hash},
		"a tarball":               {"", "", &debug.BuildInfo{}, hash + " HEAD -> main\n", "(devel fa7a56f01234)", hash},
		"a tarball of a release":  {"", "", nil, hash + " HEAD -> main, tag: v1.2.3, origin/main\n", "v1.2.3", hash},
		"a tarball without refs":  {"", "", nil, hash + " \n", "(devel fa7a56f01234)", hash},
		"a module of a tarball":   {"", "", module, hash + " tag: v9\n", "v1.2.3", ""},
	} {
		if got := builtFrom(c.version, c.commit, c.info, c.archived); got.String() != c.want ||
			got.commit != c.commitWanted {
			t.Errorf("%s: %q, commit %q; want %q, commit %q", name, got, got.commit, c.want, c.commitWanted)
		}
	}
}

func TestGitArchiveWritesTheCommit(t *testing.T) {
	if out, err := exec.Command("git", "rev-parse", "HEAD").CombinedOutput(); err != nil {
		t.Skipf("no repository: %v: %s", err, out)
	}
	if out, err := exec.Command("git", "cat-file", "-e",
		"HEAD:internal/cli/app/archive.txt").CombinedOutput(); err != nil {
		t.Skipf("not committed: %s", out)
	}
	out, err := exec.Command("sh", "-c", `cd ../../.. && git archive --worktree-attributes HEAD internal/cli/app/archive.txt | tar -xO internal/cli/app/archive.txt`).Output()
	if err != nil || !regexp.MustCompile(`^[0-9a-f]{40} `).Match(out) {
		t.Errorf("%v: %q", err, out)
	}
}
