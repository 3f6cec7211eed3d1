package vm_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// TestBoot boots every kernel in the user's cache, which a run of the lab fills.
func TestBoot(t *testing.T) {
	if os.Getenv("GORXE_LAB") != "1" {
		t.Skip("boots virtual machines; set GORXE_LAB=1 on a host where `make interop` has run")
	}
	guest := filepath.Join(t.TempDir(), "guest")
	build := exec.Command("go", "build", "-o", guest, "github.com/gorxe/gorxe/conformance/rxelab/cmd/rxelab-guest")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	for suite, release := range map[string]string{"bookworm": "6.1.", "trixie": "6.12."} {
		t.Run(suite, func(t *testing.T) {
			k, err := vm.FetchKernel(t.Context(), filepath.Join(cache, "gorxe-rxelab"), suite,
				func(s string) { t.Log(s) })
			if err != nil {
				t.Fatal(err)
			}
			v, err := vm.Boot(t.Context(), vm.Config{Kernel: k, Guest: guest})
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("Linux %s took commands %v after its start", v.Info.Kernel, v.Info.Uptime)
			if len(v.Info.Warnings) > 0 || !strings.HasPrefix(v.Info.Kernel, release) {
				t.Errorf("%+v", v.Info)
			}
			out, err := v.Run(t.Context(), "uname", "-r")
			if err != nil || strings.TrimSpace(out) != k.Release {
				t.Errorf("uname -r: %q, %v", out, err)
			}
			if err := v.Put(t.Context(), "/run/x/hello", 0o755, strings.NewReader("#!/bin/sh\nid -u\n")); err != nil {
				t.Fatal(err)
			}
			if out, err := v.Run(t.Context(), "/run/x/hello"); err != nil || out != "0\n" {
				t.Errorf("%q, %v", out, err)
			}
			if err := v.Close(); err != nil {
				t.Fatal(err)
			}
			<-v.Stopped()
			if _, err := v.Run(t.Context(), "true"); err == nil {
				t.Error("a command ran after the end of the machine")
			}
		})
	}
}
