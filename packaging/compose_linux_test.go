package packaging

import (
	"slices"
	"strings"
	"testing"
)

// The services of the compose file run in order, in network namespaces instead of containers.
func TestTheComposeFileEndsWithSuccess(t *testing.T) {
	if !apart(t) {
		return
	}
	c := composeFile(t)
	hosts := newHosts(t, "a", "b")
	began, ended := map[string]*service{}, map[string]bool{}
	wait := func(name string) {
		if ended[name] {
			return
		}
		if err := <-began[name].over; err != nil {
			t.Fatalf("%s: %v\n%s", name, err, &began[name].out)
		}
		ended[name] = true
		t.Logf("%s: %q\n%s", name, c.Services[name].Command, &began[name].out)
	}
	for len(began) < len(c.Services) {
		progress := false
		for name, s := range c.Services {
			before := s.after()
			if began[name] != nil || slices.ContainsFunc(keys(before), func(n string) bool { return began[n] == nil }) {
				continue
			}
			for other, success := range before {
				if success {
					wait(other)
				} else {
					began[other].until(t, "its socket",
						func() bool { return listens(t, hosts[c.Services[other].Hostname], s.Command[0]) })
				}
			}
			h := hosts[s.Hostname]
			began[name] = h.start(append(slices.Clone(h.entry), s.Command...)...)
			progress = true
		}
		if !progress {
			t.Fatal("services depend on each other")
		}
	}
	for name := range c.Services {
		wait(name)
	}
	if out := began["b-rping"].out.String(); !strings.Contains(out, "100 pings") {
		t.Error(out)
	}
	if out := began["b-perf"].out.String(); !strings.Contains(out, "65536") {
		t.Error(out)
	}
}

// listens reports whether a host's server is running: perf's has a TCP port, rping's UDP port
// 4791.
func listens(t *testing.T, h *host, tool string) bool {
	t.Helper()
	file, port := "udp", ":12B7 "
	if tool == "perf" {
		file, port = "tcp6", ":4853 "
	}
	return strings.Contains(must(t, "ip netns exec "+h.name+" cat /proc/net/"+file), port)
}

func keys(m map[string]bool) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	return list
}
