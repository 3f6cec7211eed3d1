// Package host provides what the lab needs from the host: Debian packages, builds of this module,
// and versions.
package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// Packages of this module that the lab builds.
const (
	GuestPackage = "github.com/gorxe/gorxe/conformance/rxelab/cmd/rxelab-guest"
	GorxePackage = "github.com/gorxe/gorxe/cmd/gorxe"
	VerbsPackage = "github.com/gorxe/gorxe/conformance/rxelab/cmd/rxelab-verbs"
	BenchPackage = "github.com/gorxe/gorxe/tools/bench/cmd/bench"
)

// Build compiles a command as a static program, which needs no library in the guest.
func Build(ctx context.Context, pkg, out string) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if msg, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, msg)
	}
	return nil
}

// required are the files that the lab uses, on the host or in the guest, with their Debian
// packages.
var required = []struct{ file, pkg string }{
	{"qemu-system-x86_64", "qemu-system-x86"},
	{"ip", "iproute2"}, {"tc", "iproute2"}, {"rdma", "iproute2"},
	{"ethtool", "ethtool"},
	{"tcpdump", "tcpdump"},
	{"ibv_rc_pingpong", "ibverbs-utils"},
	{"ib_write_bw", "perftest"},
	{"/etc/libibverbs.d/rxe.driver", "ibverbs-providers"},
	{"xz", "xz-utils"},
	{"apt-get", "apt"}, {"dpkg-deb", "dpkg"},
}

// programDirs are searched in addition to PATH, which has no sbin directories for an ordinary
// user.
var programDirs = []string{"/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/bin", "/bin"}

func present(file string) bool {
	if filepath.IsAbs(file) {
		_, err := os.Stat(file)
		return err == nil
	}
	if _, err := exec.LookPath(file); err == nil {
		return true
	}
	return slices.ContainsFunc(programDirs, func(d string) bool { return present(filepath.Join(d, file)) })
}

func missingPackages() []string {
	var missing []string
	for _, r := range required {
		if !present(r.file) && !slices.Contains(missing, r.pkg) {
			missing = append(missing, r.pkg)
		}
	}
	return missing
}

// EnsurePackages installs missing packages as root. Otherwise the error names the packages to
// install.
func EnsurePackages(ctx context.Context, step func(string)) error {
	if runtime.GOOS != "linux" {
		return fmt.Errorf("the lab needs a Linux host: it boots QEMU with this host's files as the guest's; this is %s",
			runtime.GOOS)
	}
	missing := missingPackages()
	if len(missing) == 0 {
		return nil
	}
	install := append([]string{"apt-get", "-o", "DPkg::Lock::Timeout=300", "install", "-y", "-qq",
		"--no-install-recommends"}, missing...)
	if os.Geteuid() != 0 {
		return fmt.Errorf("programs are missing; install them with: sudo apt-get install --no-install-recommends %s",
			strings.Join(missing, " "))
	}
	step("installing " + strings.Join(missing, " "))
	for _, argv := range [][]string{{"apt-get", "-o", "DPkg::Lock::Timeout=300", "update", "-qq"}, install} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
		}
	}
	if missing := missingPackages(); len(missing) > 0 {
		return fmt.Errorf("installed, but still missing: files of %s", strings.Join(missing, " "))
	}
	return nil
}

// Version is a program with its version.
type Version struct{ Program, Version string }

// Versions returns the versions of the programs that took part, except those that it cannot
// determine.
func Versions(ctx context.Context, gorxe string) []Version {
	out := []Version{{"gorxe", GorxeVersion(ctx, gorxe)}}
	for _, pkg := range []string{"rdma-core", "ibverbs-utils", "perftest", "tcpdump", "qemu-system-x86"} {
		if v, err := PackageVersion(ctx, pkg); err == nil {
			out = append(out, Version{pkg, v})
		}
	}
	return out
}

// PackageVersion returns the version of an installed Debian package.
func PackageVersion(ctx context.Context, pkg string) (string, error) {
	b, err := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Version}", pkg).Output()
	if err == nil && len(b) == 0 {
		err = errors.New("it is not installed")
	}
	if err != nil {
		return "", fmt.Errorf("the version of %s: %w; install it with: sudo apt-get install %[1]s", pkg, err)
	}
	return string(b), nil
}

// GorxeVersion returns the revision of the module's repository, or the output of the program's
// version command if there is none.
func GorxeVersion(ctx context.Context, program string) string {
	rev, err := exec.CommandContext(ctx, "git", "rev-parse", "--short=12", "HEAD").Output()
	if err == nil {
		dirty, derr := exec.CommandContext(ctx, "git", "status", "--porcelain", "--untracked-files=no").Output()
		v := strings.TrimSpace(string(rev))
		if derr == nil && len(dirty) > 0 {
			v += " with changes"
		}
		return v
	}
	b, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "unknown"
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimSpace(line)
}

var prettyName = regexp.MustCompile(`(?m)^PRETTY_NAME="?([^"\n]*)`)

// Name returns a description of the host's system.
func Name() string {
	b, err := os.ReadFile("/etc/os-release")
	if err != nil && !errors.Is(err, os.ErrNotExist) || prettyName.FindSubmatch(b) == nil {
		return runtime.GOOS
	}
	return fmt.Sprintf("%s, %d processors", prettyName.FindSubmatch(b)[1], runtime.NumCPU())
}
