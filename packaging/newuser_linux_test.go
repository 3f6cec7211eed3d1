package packaging

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A user has only the program and docs/operations.md, on a minimal host: without services, a
// directory for the user, or a configuration.
func TestANewUserStartsConnectsLooksAndStops(t *testing.T) {
	if !apart(t) {
		return
	}
	page := read(t, "../docs/operations.md")
	hosts := newHosts(t, "here", "there")
	here, there := hosts["here"], hosts["there"]
	here.env, there.env = nil, nil
	on := func(h *host, line string) []string {
		words := strings.Fields(strings.ReplaceAll(line, "192.0.2.1", "10.47.91.1"))
		if words[0] != filepath.Base(h.entry[0]) {
			t.Fatalf("the page has a command that is not gorxe's: %s", line)
		}
		return append(h.entry[:1:1], words[1:]...)
	}
	must := func(h *host, line string) {
		out, err := h.run(on(h, line)...)
		if err != nil || out == "" {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
		t.Logf("$ %s\n%s", line, out)
	}

	start := commands(t, page, "Start")
	if start[0] != "gorxe daemon --check" || start[1] != "gorxe daemon" {
		t.Fatalf("the page starts with %q", start[:2])
	}
	must(here, start[0])
	d := here.start(on(here, start[1])...)
	d.until(t, "readiness", func() bool { return strings.Contains(d.out.String(), "msg=ready") })
	for _, line := range commands(t, page, "Connect") {
		must(there, line)
	}
	for _, line := range commands(t, page, "Look inside") {
		if !strings.Contains(line, "--watch") && !strings.HasPrefix(line, "curl") {
			must(here, line)
		}
	}
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-d.over; err != nil {
		t.Errorf("%v\n%s", err, &d.out)
	}
	t.Log(d.out.String())
}
