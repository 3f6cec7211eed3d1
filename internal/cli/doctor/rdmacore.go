package doctor

import (
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// libraryFolders are the directories in which distributions install libraries.
var libraryFolders = []string{
	"usr/lib/*-linux-gnu", "usr/lib64", "usr/lib", "lib/*-linux-gnu", "lib64", "lib", "usr/local/lib",
	"usr/local/lib64",
}

// oldest is the first release of rdma-core with which gorxe run was tested.
const oldest = 44

// forPrograms is the start of advice to install something.
const forPrograms = "for programs under 'gorxe run': "

// library searches for libibverbs below root. The file name contains the release of rdma-core:
// libibverbs.so.1.14.44.0 belongs to release 44.
func library(root fs.FS) Finding {
	const subject = "libibverbs"
	name := find(root, "libibverbs.so.1.*")
	if name == "" {
		return Finding{subject, Warn, "is not installed",
			forPrograms + "apt install libibverbs1, or dnf install libibverbs"}
	}
	f := Finding{Subject: subject, State: OK, Text: "/" + name}
	parts := strings.Split(strings.TrimPrefix(path.Base(name), "libibverbs.so.1."), ".")
	if len(parts) < 2 {
		return f
	}
	release, err := strconv.Atoi(parts[1])
	if err != nil {
		return f
	}
	f.Text = fmt.Sprintf("rdma-core %d (/%s)", release, name)
	if release < oldest {
		f.State, f.Advice = Warn, fmt.Sprintf("'gorxe run' is tested with rdma-core %d and later", oldest)
	}
	return f
}

// provider searches for the rxe provider of libibverbs below root, which every program under
// gorxe run uses.
func provider(root fs.FS) Finding {
	const subject, advice = "rxe provider", forPrograms + "apt install ibverbs-providers, or dnf install libibverbs"
	name := find(root, "libibverbs/librxe-rdmav*.so")
	if name == "" {
		return Finding{subject, Warn, "is not installed", advice}
	}
	for _, config := range []string{"etc/libibverbs.d/rxe.driver", "usr/etc/libibverbs.d/rxe.driver"} {
		if _, err := fs.Stat(root, config); err == nil {
			return Finding{subject, OK, "/" + name, ""}
		}
	}
	return Finding{
		subject, Warn, "/" + name + " is not in use: there is no /etc/libibverbs.d/rxe.driver", advice,
	}
}

// find returns a file below root that matches a pattern in a directory of libraries, the last
// match in the first directory that has one; "" if there is none.
func find(root fs.FS, pattern string) string {
	for _, dir := range libraryFolders {
		if names, err := fs.Glob(root, dir+"/"+pattern); err == nil && len(names) > 0 {
			return names[len(names)-1]
		}
	}
	return ""
}
