package packaging

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// apart runs the rest of a test in separate namespaces, in which it may mount file systems,
// configure networks and start processes: all of them end with the test. It returns false outside
// the namespaces, after the test has run in them.
func apart(t *testing.T) bool {
	t.Helper()
	if os.Getenv(inside) == "" {
		need(t, "unshare", "ip", "mount", "setpriv", "chroot", "nsenter")
		if _, err := built(); err != nil { // once for all tests
			t.Fatal(err)
		}
		c := exec.CommandContext(t.Context(), "unshare",
			"--mount", "--net", "--pid", "--ipc", "--fork", "--kill-child", "--mount-proc",
			os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=2m")
		c.Env = append(os.Environ(), inside+"="+madeDir)
		out, err := c.CombinedOutput()
		switch {
		case err != nil:
			t.Errorf("%v\n%s", err, out)
		case bytes.Contains(out, []byte("--- SKIP")):
			t.Skip(string(out))
		case !bytes.Contains(out, []byte("--- PASS: "+t.Name())):
			t.Errorf("the test was not run:\n%s", out)
		default:
			t.Logf("%s", out)
		}
		return false
	}
	for _, line := range []string{"mount --make-rprivate /", "mount -t tmpfs tmpfs /run", "mkdir -p /run/netns"} {
		must(t, line)
	}
	return true
}

func need(t *testing.T, programs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("namespaces, mounts and networks need root")
	}
	for _, p := range programs {
		if _, err := exec.LookPath(p); err != nil {
			t.Skipf("there is no %s", p)
		}
	}
}

// must runs a shell command line.
func must(t *testing.T, line string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// A host is a network namespace with eth0, and a root file system with the image.
type host struct {
	t          *testing.T
	name, root string
	entry, env []string
	user       string
}

// newHosts makes hosts of the image on one network, which know each other's names.
func newHosts(t *testing.T, names ...string) map[string]*host {
	t.Helper()
	image := dockerfile(t)[1]
	must(t, "ip link add bridge type bridge && ip link set bridge up && ip link set lo up")
	known := "127.0.0.1 localhost\n"
	for i, name := range names {
		known += fmt.Sprintf("10.47.91.%d %s\n", i+1, name)
	}
	hosts := map[string]*host{}
	for i, name := range names {
		h := &host{t, name, filepath.Join("/run/hosts", name), words(t, image.one(t, "ENTRYPOINT")), image.all("ENV"),
			image.one(t, "USER")}
		hosts[name] = h
		must(t, "mkdir -p "+h.root+" && mount -t tmpfs tmpfs "+h.root)
		imageRoot(t, h.root)
		for _, dir := range []string{"etc", "proc", "dev", "tmp"} {
			if err := os.Mkdir(filepath.Join(h.root, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(h.root, "etc", "hosts"), []byte(known), 0o644); err != nil {
			t.Fatal(err)
		}
		must(t, strings.NewReplacer("HOST", name, "ADDR", fmt.Sprintf("10.47.91.%d/24", i+1), "ROOT",
			h.root).Replace(`set -e
			ip netns add HOST
			ip link add eth0 netns HOST type veth peer name to-HOST
			ip link set to-HOST master bridge up
			ip -n HOST link set lo up
			ip -n HOST addr add ADDR dev eth0
			ip -n HOST link set eth0 up
			ip -n HOST route add default via 10.47.91.254
			mount -o remount,ro ROOT
			mount -t tmpfs -o mode=1777 tmpfs ROOT/run
			mount -t tmpfs -o mode=1777 tmpfs ROOT/tmp
			mount -t proc proc ROOT/proc`))
	}
	return hosts
}

// command returns a command that runs as a container runtime would start it: without privileges,
// not as root, on a read-only root file system.
func (h *host) command(ctx context.Context, words []string) *exec.Cmd {
	c := exec.CommandContext(ctx, "ip", slices.Concat([]string{"netns", "exec", h.name,
		"setpriv", "--no-new-privs", "chroot", "--userspec=" + h.user, "--groups=", h.root}, words)...)
	c.Env = append(slices.Clone(h.env), "PATH="+os.Getenv("PATH"))
	return c
}

// A service is a running command.
type service struct {
	*exec.Cmd
	out  lines
	over chan error
}

func (h *host) start(words ...string) *service {
	h.t.Helper()
	s := &service{Cmd: h.command(h.t.Context(), words), over: make(chan error, 1)}
	s.Stdout, s.Stderr = &s.out, &s.out
	if err := s.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() { s.over <- s.Wait() }()
	return s
}

// run runs a command to its end.
func (h *host) run(words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(h.t.Context(), time.Minute)
	defer cancel()
	out, err := h.command(ctx, words).CombinedOutput()
	return string(out), err
}

// until polls ask until it returns true, because no event reports that. It fails the test if the
// service ends.
func (s *service) until(t *testing.T, what string, ask func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ask(); time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-s.over:
			t.Fatalf("%q ended before there was %s: %v\n%s", s.Args, what, err, &s.out)
		default:
		}
		if time.Now().After(end) {
			t.Fatalf("%q: there is no %s\n%s", s.Args, what, &s.out)
		}
	}
}
