package vm

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Kernel is a stock kernel on disk.
type Kernel struct {
	Suite   string   // name of the Debian release: bookworm, trixie
	Release string   // as uname -r prints it
	Package string   // name and version of the Debian package
	Image   string   // path of the image
	Modules []string // paths of the modules, in the order of loading
}

const metaPackage = "linux-image-amd64"

// FetchKernel returns the suite's kernel from the cache directory. It fetches a missing kernel
// with apt, without root: apt uses private lists below the cache directory. step, if not nil, is
// called before slow steps.
func FetchKernel(ctx context.Context, cache, suite string, step func(string)) (*Kernel, error) {
	if step == nil {
		step = func(string) {}
	}
	dir := filepath.Join(cache, "kernels", suite)
	open := func() (*Kernel, error) { return openKernel(dir, suite) }
	return fetched(cache, dir, suite, open, func(a *apt, ready string) error {
		step("reading the package lists of Debian " + suite)
		if _, err := a.run(ctx, "apt-get", "update", "-qq"); err != nil {
			return err
		}
		name, err := a.dependency(ctx, metaPackage)
		if err != nil {
			return err
		}
		step("downloading " + name)
		if _, err := a.run(ctx, "apt-get", "download", "-qq", name); err != nil {
			return err
		}
		debs, err := filepath.Glob(filepath.Join(a.dir, name+"_*.deb"))
		if err != nil || len(debs) != 1 {
			return fmt.Errorf("apt-get download %s left %d files, want 1 (%v)", name, len(debs), err)
		}
		step("unpacking " + filepath.Base(debs[0]))
		tree := filepath.Join(a.dir, "tree")
		if err := unpackDeb(ctx, debs[0], tree); err != nil {
			return err
		}
		return distill(ctx, tree, ready, strings.TrimSuffix(filepath.Base(debs[0]), ".deb"))
	})
}

// distill copies the image and the modules that the lab loads.
func distill(ctx context.Context, tree, dir, pkg string) error {
	images, err := filepath.Glob(filepath.Join(tree, "boot", "vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return fmt.Errorf("%s holds %d kernel images, want 1 (%v)", pkg, len(images), err)
	}
	release := strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-")
	lib := filepath.Join(tree, "lib", "modules", release)
	if _, err := os.Stat(lib); err != nil {
		lib = filepath.Join(tree, "usr", "lib", "modules", release)
	}
	mods, err := readModuleTree(lib)
	if err != nil {
		return err
	}
	order, err := mods.order(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, "modules"), 0o755); err != nil {
		return err
	}
	for i, m := range order {
		if err := os.WriteFile(filepath.Join(dir, "modules", fmt.Sprintf("%02d-%s.ko", i, m.name)), m.data,
			0o644); err != nil {
			return err
		}
	}
	if err := os.Rename(images[0], filepath.Join(dir, "vmlinuz")); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, doneFile), []byte(release+"\n"+pkg+"\n"+fmt.Sprint(wanted)+"\n"), 0o644)
}

// openKernel opens a kernel in the cache. It removes a kernel with other modules than wanted and
// treats it as absent.
func openKernel(dir, suite string) (*Kernel, error) {
	b, err := os.ReadFile(filepath.Join(dir, doneFile))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	if len(lines) != 3 || lines[2] != fmt.Sprint(wanted) {
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		return nil, fs.ErrNotExist
	}
	mods, err := filepath.Glob(filepath.Join(dir, "modules", "*.ko")) // sorted by Glob
	if err != nil {
		return nil, err
	}
	return &Kernel{Suite: suite, Release: lines[0], Package: lines[1], Image: filepath.Join(dir, "vmlinuz"),
		Modules: mods}, nil
}
