//go:build linux && (amd64 || arm64)

package programs

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// builds holds the build commands of the programs in testdata/languages, for the path of the
// result.
var builds = map[string]func(out string) []string{
	"C": func(out string) []string { return words("gcc -Wall -Werror -O1 -o", out, "loop.c -libverbs -lpthread") },
	"C++": func(out string) []string {
		return words("g++ -Wall -Werror -O1 -x c++ -o", out, "loop.c -libverbs -lpthread")
	},
	"C, static": func(out string) []string {
		return words("gcc -static -DRDMA_STATIC_PROVIDERS=rxe -o", out,
			"loop.c -Wl,--start-group -lrxe-rdmav34 -libverbs -lnl-route-3 -lnl-3 -Wl,--end-group -lpthread")
	},
	"C with musl, static": func(out string) []string {
		const headers = "-idirafter /usr/include -idirafter /usr/include/x86_64-linux-gnu -idirafter /usr/include/aarch64-linux-gnu"
		return words("musl-gcc -Wall -static", headers, "-o", out, "ioctl.c")
	},
	"Go with cgo": func(out string) []string { return words("go build -o", out, "cgo/main.go") },
	"Rust":        func(out string) []string { return words("rustc --edition 2021 -o", out, "look.rs") },
}

func words(parts ...string) []string { return strings.Fields(strings.Join(parts, " ")) }

// build builds one of builds.
func build(t *testing.T, name string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "program")
	argv := builds[name](path)
	if _, err := exec.LookPath(argv[0]); err != nil {
		t.Skipf("%s is not installed", argv[0])
	}
	if argv[0] == "rustc" { // rustup installs a wrapper that works only with a toolchain
		if out, err := exec.Command(argv[0], "--version").CombinedOutput(); err != nil {
			t.Skipf("rustc --version: %v: %s", err, out)
		}
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir = "testdata/languages"
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(argv, " "), err, out)
	}
	return path
}

func TestProgramsOfEachLanguageUseTheDevice(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.40")
		for name := range builds {
			t.Run(name, func(t *testing.T) { start(t, h, build(t, name)).wait() })
		}
	})
}

// Uses of processes, threads and descriptors by programs; see testdata/languages/loop.c.
func TestProgramsUseTheDeviceInTheirOwnWay(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.41")
		path := build(t, "C")
		for _, way := range []string{"threads", "fork", "exec", "closed", "dup", "files", "few", "leader"} {
			t.Run(way, func(t *testing.T) {
				if out := start(t, h, path+" "+way).wait(); !strings.Contains(out, "the message has come back") {
					t.Error(out)
				}
			})
		}
	})
}

func TestProgramsUseTheDeviceUnderADebugger(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.42")
		path := build(t, "C")
		for name, line := range map[string]string{
			"strace": "strace -f -o /dev/null " + path + " threads",
			"gdb":    "gdb -nx -batch -ex run --args " + path + " threads",
		} {
			t.Run(name, func(t *testing.T) {
				if out := start(t, h, line).wait(); !strings.Contains(out, "the message has come back") {
					t.Error(out)
				}
			})
		}
	})
}
