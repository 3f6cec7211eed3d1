package packaging

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// notHere is the exit status of boot.sh if the kernel lacks a feature that it needs.
const notHere = 77

// The commands of docs/operations.md run as root on a temporary copy of this host with systemd:
// they start the unit with all of its restrictions.
func TestTheServiceIsInstalledAndUsedAsTheOperationsPageSays(t *testing.T) {
	need(t, "unshare", "ip", "systemctl", "systemd-sysusers", "journalctl", "runuser", "useradd", "nsenter")
	if _, err := os.Stat("/lib/systemd/systemd"); err != nil {
		t.Skip(err)
	}
	out, err := built()
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "../docs/operations.md")
	steps := []string{"cd " + top, ". /run/tryout/before.sh"}
	for _, line := range commands(t, page, "Install") {
		if line == "sudo systemctl disable --now gorxe" {
			for _, line := range commands(t, page, "Connect") {
				steps = append(steps, "ip netns exec peer "+line)
			}
			// The commands run neither as root nor as the daemon's user.
			for _, line := range commands(t, page, "Look inside") {
				if !strings.Contains(line, "--watch") && !strings.HasPrefix(line, "curl") {
					steps = append(steps, "runuser -u gorxe-alice -- "+line)
				}
			}
			steps = append(steps, ". /run/tryout/rights.sh")
		}
		if strings.HasPrefix(line, "CGO_ENABLED=0 go build") {
			line = "cp /run/tryout/gorxe gorxe"
		}
		steps = append(steps, strings.ReplaceAll(strings.TrimPrefix(line, "sudo "), "$USER", "gorxe-alice"))
	}
	steps = append(steps, "refused systemctl is-active gorxe", "refused test -e /run/gorxe", "refused gorxe status",
		"journalctl -u gorxe --no-pager | grep msg=stopped", "")

	dir := t.TempDir()
	for name, text := range map[string]string{
		"steps.sh": strings.Join(steps, "\n"), "tryout.service": read(t, "testdata/tryout.service"),
		"before.sh": read(t, "testdata/before.sh"), "rights.sh": read(t, "testdata/rights.sh"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	must(t, "cp "+filepath.Join(out, "bin", "gorxe")+" "+dir)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "unshare", "--mount", "sh", "-eu", "testdata/boot.sh", dir)
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
	boot, err := c.CombinedOutput()
	did, unread := os.ReadFile(filepath.Join(dir, "out"))
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == notHere || unread != nil) {
		t.Skipf("systemd cannot be started here: %v\n%s", err, boot)
	}
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, did, boot)
	}
	t.Logf("%s", did)
}

// commands returns the lines of the shell blocks of a section.
func commands(t *testing.T, page, section string) (list []string) {
	t.Helper()
	_, text, ok := strings.Cut(page, "\n## "+section+"\n")
	if !ok {
		t.Fatalf("the page has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	for i, block := range strings.Split(text, "```") {
		if lines, ok := strings.CutPrefix(block, "sh\n"); ok && i%2 == 1 {
			list = append(list, strings.Split(strings.TrimSpace(lines), "\n")...)
		}
	}
	if len(list) == 0 {
		t.Fatalf("the section %s has no commands", section)
	}
	return list
}
