package packaging

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// A pod of the DaemonSet runs on a node and is pinged by another node: with the image's user, a
// read-only root file system and the ConfigMap's configuration.
func TestAPodStartsIsPingedIsWellAndStops(t *testing.T) {
	if !apart(t) {
		return
	}
	d := daemonSetFile(t)
	hosts := newHosts(t, "node", "peer")
	node, peer := hosts["node"], hosts["peer"]
	dir := filepath.Join(node.root, "etc", "gorxe")
	must(t, "mount -o remount,rw "+node.root+" && mkdir "+dir)
	if err := os.WriteFile(filepath.Join(dir, "gorxe.toml"), []byte(d.config), 0o644); err != nil {
		t.Fatal(err)
	}
	must(t, "mount -o remount,ro "+node.root)
	list := func(keys ...string) (words []string) {
		for _, w := range get[[]any](t, d.container, keys...) {
			words = append(words, w.(string))
		}
		return words
	}
	pod := node.start(append(node.entry, list("args")...)...)
	probe := list("livenessProbe", "exec", "command")
	pod.until(t, "status", func() bool { _, err := node.run(probe...); return err == nil })
	for _, c := range []struct {
		on   *host
		args string
		want []string
	}{
		{node, "status", []string{"running for", "metrics http://:9481/metrics", "services rping (port 7174)",
			"::ffff:10.47.91.1", "ACTIVE"}},
		{peer, "rping -c -a node -C 10 -V", []string{"10 pings of 64 bytes returned"}},
		{node, "cms", []string{"10.47.91.2"}},
		{node, "qps", []string{"DEVICE"}},
		{node, "stats", []string{"rcvd_pkts"}},
	} {
		out, err := c.on.run(append(c.on.entry, strings.Fields(c.args)...)...)
		if err != nil {
			t.Errorf("gorxe %s: %v\n%s", c.args, err, out)
		}
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("gorxe %s: no %q:\n%s", c.args, want, out)
			}
		}
	}
	if s := must(t, "cat /proc/"+strconv.Itoa(pod.Process.Pid)+"/status"); !strings.Contains(s,
		"CapEff:\t0000000000000000") || !strings.Contains(s, "NoNewPrivs:\t1") || !strings.Contains(s,
		"Uid:\t65532\t65532") {
		t.Errorf("the daemon has rights:\n%s", s)
	}
	if err := pod.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-pod.over; err != nil || !strings.Contains(pod.out.String(), `"msg":"stopped"`) {
		t.Errorf("%v\n%s", err, &pod.out)
	}
	if out, err := node.run(probe...); err == nil {
		t.Errorf("there is a status after the end: %s", out)
	}
}
