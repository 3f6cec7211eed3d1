package main

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/gorxe/gorxe/internal/trap"
)

func needPrograms(t *testing.T, tools ...string) {
	t.Helper()
	if err := trap.Probe(); err != nil {
		t.Skipf("no programs can be run here: %v", err)
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
}

func exitCode(err error) int {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return e.ExitCode()
	}
	return 0
}

func TestAProgramFindsTheDeviceAndEndsWithItsOwnStatus(t *testing.T) {
	needPrograms(t, "ibv_devinfo")
	p := newPlace(t)
	for _, run := range []string{"gorxe run -d 127.55.11.19", "gorxe run --no-daemon -d 127.55.11.20"} {
		out, err := p.run(run + " -- ibv_devinfo")
		if err != nil || !strings.Contains(out, "hca_id:\trxe0") || !strings.Contains(out, "PORT_ACTIVE") {
			t.Errorf("%s: %v\n%s", run, err, out)
		}
		for program, want := range map[string]int{
			" -- sh -c 'exit 7'":                       7,
			" -- sh -c 'kill -9 $$'":                   128 + int(syscall.SIGKILL),
			" -- true":                                 0,
			" -- sh -c '(sleep 0.1; exit 3) & exit 4'": 4,
			" -- /nowhere/program":                     127,
			"":                                         2,
		} {
			if out, err := p.run(run + program); exitCode(err) != want {
				t.Errorf("%s: %v, want status %d\n%s", run+program, err, want, out)
			}
		}
	}
}

func TestProgramsOfOneShellExchangeMessages(t *testing.T) {
	needPrograms(t, "ibv_rc_pingpong", "ib_write_bw")
	p := newPlace(t)
	for _, line := range []string{
		"ibv_rc_pingpong -g 0 -p 21701 -n 20", "ib_write_bw -F -p 21702 -n 20", "ib_send_lat -F -e -p 21703 -n 20",
	} {
		script := line + " & until " + line + " 127.0.0.1 2>/dev/null; do sleep 0.05; done; wait"
		out, err := p.run("gorxe run --no-daemon -d 127.55.11.21 -- sh -c '" + script + "'")
		if err != nil || !strings.Contains(out, "iters in") && !strings.Contains(out, "#bytes") {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

func TestProgramsOfOneShellConnectByRDMACM(t *testing.T) {
	needPrograms(t, "rping")
	p := newPlace(t)
	server, client := "rping -s -a 127.55.11.24 -p 21711 -C 5", "rping -c -a 127.55.11.24 -p 21711 -C 5"
	script := server + " & until " + client + " 2>/dev/null; do sleep 0.05; done; wait"
	if out, err := p.run("gorxe run --no-daemon -d 127.55.11.24 -- sh -c '" + script + "'"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestOneCommandInsideOfAnotherUsesTheSameDevice(t *testing.T) {
	needPrograms(t, "ibv_devices")
	p := newPlace(t)
	out, err := p.run("gorxe run -d 127.55.11.22 -- gorxe run -- ibv_devices")
	if err != nil || !strings.Contains(out, "rxe0") {
		t.Errorf("%v\n%s", err, out)
	}
}

// In a container gorxe run is process 1, so the daemon becomes its child.
func TestProcessOneEndsWithItsProgram(t *testing.T) {
	needPrograms(t, "unshare")
	if os.Geteuid() != 0 {
		t.Skip("a PID namespace takes root")
	}
	p := newPlace(t)
	c := p.background(
		"unshare -pf --kill-child --mount-proc gorxe run -d 127.55.11.34 --daemon-idle 1h -- sh -c 'exit 3'")
	if err := c.Wait(); exitCode(err) != 3 {
		t.Errorf("%v\n%s", err, &c.out)
	}
}

func TestSIGTERMEndsTheProgramToo(t *testing.T) {
	needPrograms(t)
	p := newPlace(t)
	c := p.command("gorxe run -d 127.55.11.23 -- sh -c 'trap \"echo told; exit 5\" TERM; echo ready; while :; do sleep 0.05; done'")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 64)
	if n, err := out.Read(b); err != nil || string(b[:n]) != "ready\n" {
		t.Fatalf("%q, %v", b[:n], err)
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n, _ := out.Read(b)
	if err := c.Wait(); exitCode(err) != 5 || string(b[:n]) != "told\n" {
		t.Errorf("%v, %q", err, b[:n])
	}
}
