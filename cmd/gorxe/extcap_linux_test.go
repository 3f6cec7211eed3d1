package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// newShark returns a place with the extcap program in the personal folder of tshark.
func newShark(t *testing.T) *place {
	t.Helper()
	if _, err := exec.LookPath("tshark"); err != nil {
		t.Skip("tshark is not installed")
	}
	p := newPlace(t)
	p.env = append(p.env, "HOME="+p.dir, "XDG_CONFIG_HOME="+filepath.Join(p.dir, ".config"))
	// The second folder is that of Wireshark 4.2 and later.
	for _, folder := range []string{".config/wireshark/extcap", ".local/lib/wireshark/extcap"} {
		folder = filepath.Join(p.dir, folder)
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		script := "#!/bin/sh\nexec gorxe extcap \"$@\"\n"
		if err := os.WriteFile(filepath.Join(folder, "gorxe"), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestTsharkCapturesThePacketsOfADaemon(t *testing.T) {
	p := newShark(t)
	if out, err := p.run("tshark -D"); err != nil || strings.Contains(out, "gorxe-") {
		t.Errorf("without a daemon: %v\n%s", err, out)
	}
	d := p.start("gorxe daemon --device 127.55.11.40 --programs=false")
	out, err := p.run("tshark -D")
	if err != nil || !strings.Contains(out, ". gorxe-gorxe0 (gorxe daemon: gorxe0") {
		t.Fatalf("%v\n%s", err, out)
	}
	if out, err := p.run("tshark -L -i gorxe-gorxe0"); err != nil || !strings.Contains(out, "RAW") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, tt := range []struct {
		name, flags string
		want        string // in each line
	}{
		{"all packets", "", "127.55.11.40"},
		{"a capture filter", "-f 'op send and not cm'", "RC Send Only"},
		{"packet comments", "-o extcap.gorxe_gorxe0.comments:true -f cm -T fields -e frame.comment", ": "},
	} {
		t.Run(tt.name, func(t *testing.T) { captures(t, p.in(t), tt.flags, tt.want) })
	}
	if err := p.stop(d, unix.SIGTERM); err != nil {
		t.Error(err)
	}
}

// captures makes tshark capture six packets on gorxe-gorxe0, and checks that each line of its
// output contains want.
func captures(t *testing.T, p *place, flags, want string) {
	t.Helper()
	shark := p.command("tshark -l -i gorxe-gorxe0 -c 6 " + flags)
	var stdout, stderr bytes.Buffer
	shark.Stdout, shark.Stderr = &stdout, &stderr
	if err := shark.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- shark.Wait() }()
	until(t, "tshark has not captured six packets", func() bool {
		if out, err := p.run("gorxe rping -c -a 127.55.11.40 -C 1 -I 127.55.11.41"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		select {
		case err := <-done:
			if err != nil {
				t.Fatalf("%v\n%s", err, &stderr)
			}
			return true
		default:
			return false
		}
	})
	lines := strings.Split(strings.TrimSuffix(stdout.String(), "\n"), "\n")
	for _, line := range lines {
		if len(lines) != 6 || !strings.Contains(line, want) {
			t.Fatalf("%d lines, want 6 with %q:\n%s\n%s", len(lines), want, &stdout, &stderr)
		}
	}
}
