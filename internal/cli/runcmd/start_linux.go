//go:build linux && (amd64 || arm64)

package runcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/gorxe/gorxe/internal/host/ownedtemp"
	"golang.org/x/sys/unix"
)

// startDaemon starts 'gorxe daemon' in a new session, with its log in a file, and returns when it
// is ready. If the daemon ends before, the error is its last message.
func startDaemon(ctx context.Context, log string, flags []string) error {
	out, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|os.O_APPEND|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	tmp, err := ownedtemp.Make(filepath.Dir(log), ".n")
	if err != nil {
		return err
	}
	defer tmp.Close()
	// The daemon reports to this socket that it is ready. The path must be short.
	name := filepath.Join(tmp.Path, "s")
	ready, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer ready.Close()

	c := exec.Command("/proc/self/exe", append([]string{"daemon"}, flags...)...)
	c.Args[0] = "gorxe"
	c.Dir = "/"
	c.Env = append(os.Environ(), "NOTIFY_SOCKET="+name)
	c.Stdout, c.Stderr = out, out
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := c.Wait()
		ended <- err
		_ = ready.Close() // ends the wait
	}()
	stop := context.AfterFunc(ctx, func() { _ = c.Process.Kill() })
	defer stop()
	var b [16]byte
	n, err := ready.Read(b[:])
	if err == nil && string(b[:n]) == "READY=1" {
		return nil
	}
	err = errors.Join(<-ended, context.Cause(ctx))
	if why := errorLines(log); why != "" {
		return errors.New(why)
	}
	return fmt.Errorf("gorxe daemon ended before it was ready: %w", err)
}

// errorLines returns the error messages in a log that begin with "gorxe: ".
func errorLines(log string) string {
	text, err := os.ReadFile(log)
	if err != nil {
		return ""
	}
	var words []string
	for line := range bytes.Lines(text) {
		if said, ok := strings.CutPrefix(strings.TrimSpace(string(line)), "gorxe: "); ok {
			words = append(words, said)
		}
	}
	return strings.Join(words, "; ")
}
