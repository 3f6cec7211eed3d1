package daemon

import (
	"net"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestTheServiceManagerIsTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no datagrams over Unix sockets")
	}
	t.Setenv("NOTIFY_SOCKET", "")
	if err := notify("READY=1"); err != nil {
		t.Errorf("where none asks: %v", err)
	}
	dir, err := os.MkdirTemp("", "gx")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	names := []string{filepath.Join(dir, "notify")}
	if runtime.GOOS == "linux" {
		names = append(names, "@"+filepath.Base(dir))
	}
	for _, name := range names {
		l, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("NOTIFY_SOCKET", name)
		if err := notify("STOPPING=1"); err != nil {
			t.Error(err)
		}
		var b [64]byte
		if n, err := l.Read(b[:]); err != nil || string(b[:n]) != "STOPPING=1" {
			t.Errorf("%s: told %q, %v", name, b[:n], err)
		}
		l.Close()
		if err := notify("READY=1"); err == nil {
			t.Errorf("%s: no error where nobody listens", name)
		}
	}
}
