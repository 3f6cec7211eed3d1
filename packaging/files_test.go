// Package packaging checks the files for installing gorxe on hosts, as far as possible without
// the programs that use them.
package packaging

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/gorxe/gorxe/internal/serve/daemon"
	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/packet"
)

// The example configurations serve metrics on the port that docs/operations.md uses.
const metricsPort = "9481"

// compose is the part of compose.yaml that the tests examine.
type compose struct {
	Services map[string]composeService `yaml:"services"`
	Networks map[string]any            `yaml:"networks"`
}

type composeService struct {
	Image    string   `yaml:"image"`
	Hostname string   `yaml:"hostname"`
	Command  []string `yaml:"command"`
	ReadOnly bool     `yaml:"read_only"`
	CapDrop  []string `yaml:"cap_drop"`
	Security []string `yaml:"security_opt"`
	Depends  any      `yaml:"depends_on"`
	Build    struct {
		Context    string `yaml:"context"`
		Dockerfile string `yaml:"dockerfile"`
	} `yaml:"build"`
}

// after returns the services that start before this one, and whether they must have exited with
// 0.
func (s *composeService) after() map[string]bool {
	before := map[string]bool{}
	switch d := s.Depends.(type) {
	case []any:
		for _, name := range d {
			before[name.(string)] = false
		}
	case map[string]any:
		for name, how := range d {
			before[name] = how.(map[string]any)["condition"] == "service_completed_successfully"
		}
	}
	return before
}

func composeFile(t *testing.T) compose {
	t.Helper()
	var c compose
	if err := yaml.Unmarshal([]byte(read(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheComposeFileRunsTwoHosts(t *testing.T) {
	c := composeFile(t)
	hosts := map[string]int{}
	for name, s := range c.Services {
		hosts[s.Hostname]++
		if s.Image != "gorxe" || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) ||
			!slices.Contains(s.Security, "no-new-privileges:true") {
			t.Errorf("%s has more rights than it needs: %+v", name, s)
		}
		if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for other := range s.after() {
			if _, ok := c.Services[other]; !ok {
				t.Errorf("%s depends on %s, which is not there", name, other)
			}
		}
	}
	if len(hosts) != 2 || hosts["a"] != 2 || hosts["b"] != 2 {
		t.Errorf("hosts %v", hosts)
	}
}

// daemonSet is the part of daemonset.yaml that the tests examine.
type daemonSet struct {
	config    string
	pod       map[string]any
	spec      map[string]any
	container map[string]any
}

func daemonSetFile(t *testing.T) daemonSet {
	t.Helper()
	var d daemonSet
	kinds := []string{}
	dec := yaml.NewDecoder(strings.NewReader(read(t, "kubernetes/daemonset.yaml")))
	for {
		var doc map[string]any
		if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		kind := get[string](t, doc, "kind")
		kinds = append(kinds, kind)
		switch kind {
		case "ConfigMap":
			d.config = get[string](t, doc, "data", "gorxe.toml")
		case "DaemonSet":
			d.pod = get[map[string]any](t, doc, "spec", "template")
			if a, b := get[string](t, doc, "spec", "selector", "matchLabels", "app.kubernetes.io/name"),
				get[string](t, d.pod, "metadata", "labels", "app.kubernetes.io/name"); a != b {
				t.Errorf("the selector looks for %s, the pods are %s", a, b)
			}
			if n := get[int](t, doc, "spec", "updateStrategy", "rollingUpdate", "maxSurge"); n != 0 {
				t.Errorf("maxSurge %d: two daemons would want one address", n)
			}
		}
	}
	if !slices.Equal(kinds, []string{"Namespace", "ConfigMap", "DaemonSet"}) {
		t.Fatalf("daemonset.yaml has %v", kinds)
	}
	d.spec = get[map[string]any](t, d.pod, "spec")
	d.container = get[[]any](t, d.spec, "containers")[0].(map[string]any)
	return d
}

// get returns the YAML value at a path of keys.
func get[T any](t *testing.T, m map[string]any, keys ...string) T {
	t.Helper()
	var v any = m
	for _, k := range keys {
		in, ok := v.(map[string]any)
		if !ok {
			t.Fatalf("%v: %v is not a mapping", keys, v)
		}
		v = in[k]
	}
	out, ok := v.(T)
	if !ok {
		t.Fatalf("%v is %v, a %T", keys, v, v)
	}
	return out
}

func TestThePodsHaveTheLeastRights(t *testing.T) {
	d := daemonSetFile(t)
	image := dockerfile(t)[1]
	if user := strconv.Itoa(get[int](t, d.spec, "securityContext", "runAsUser")) + ":" +
		strconv.Itoa(get[int](t, d.spec, "securityContext", "runAsGroup")); user != image.one(t, "USER") {
		t.Errorf("the pods run as %s, the image is made for %s", user, image.one(t, "USER"))
	}
	for _, c := range []struct {
		of   map[string]any
		keys string
		want any
	}{
		{d.spec, "hostNetwork", true},
		{d.spec, "automountServiceAccountToken", false},
		{d.spec, "securityContext runAsNonRoot", true},
		{d.spec, "securityContext seccompProfile type", "RuntimeDefault"},
		{d.container, "securityContext allowPrivilegeEscalation", false},
		{d.container, "securityContext readOnlyRootFilesystem", true},
	} {
		if got := get[any](t, c.of, strings.Fields(c.keys)...); got != c.want {
			t.Errorf("%s: %v", c.keys, got)
		}
	}
	if drop := get[[]any](t, d.container, "securityContext", "capabilities", "drop"); len(drop) != 1 ||
		drop[0] != "ALL" {
		t.Errorf("capabilities: %v", drop)
	}
	for _, key := range []string{"requests", "limits"} {
		get[string](t, d.container, "resources", key, "memory")
	}
	// The root file system is read-only: writable directories need a volume.
	volumes := map[string]bool{}
	for _, v := range get[[]any](t, d.spec, "volumes") {
		volumes[get[string](t, v.(map[string]any), "name")] = true
	}
	paths := map[string]string{}
	for _, v := range get[[]any](t, d.container, "volumeMounts") {
		m := v.(map[string]any)
		paths[get[string](t, m, "mountPath")] = get[string](t, m, "name")
		if !volumes[get[string](t, m, "name")] {
			t.Errorf("there is no volume for %v", m)
		}
	}
	if dir, _ := strings.CutPrefix(image.one(t, "ENV"), "XDG_RUNTIME_DIR="); paths[dir] != "run" ||
		paths["/etc/gorxe"] != "config" {
		t.Errorf("the control socket is below %s, the mounts are %v", dir, paths)
	}
}

func TestTheFilesAgree(t *testing.T) {
	d, image, unit := daemonSetFile(t), dockerfile(t)[1], unitFile(t)
	defaults := config.Default()
	roce, perftest := strconv.Itoa(packet.Port), strconv.Itoa(defaults.Perftest.Port)
	if got, want := strings.Fields(image.one(t, "EXPOSE")),
		[]string{roce + "/udp", metricsPort + "/tcp", perftest + "/tcp"}; !slices.Equal(got, want) {
		t.Errorf("EXPOSE %v, want %v", got, want)
	}
	ports := map[string]bool{}
	for _, p := range get[[]any](t, d.container, "ports") {
		m := p.(map[string]any)
		n := get[int](t, m, "containerPort")
		ports[strconv.Itoa(n)+"/"+strings.ToLower(get[string](t, m, "protocol"))] = true
		if n != get[int](t, m, "hostPort") {
			t.Errorf("on the network of the host, both ports are one: %v", m)
		}
	}
	if len(ports) != 2 || !ports[roce+"/udp"] || !ports[metricsPort+"/tcp"] {
		t.Errorf("ports of the pods: %v", ports)
	}
	if got := get[string](t, d.pod, "metadata", "annotations", "prometheus.io/port"); got != metricsPort {
		t.Errorf("Prometheus is sent to port %s", got)
	}

	// The program, and its health check.
	entry := words(t, image.one(t, "ENTRYPOINT"))
	if got := strings.Fields(unit["ExecStart"][0])[0]; got != entry[0] {
		t.Errorf("the unit starts %s, the image %s", got, entry[0])
	}
	check := healthcheck(t, &image)
	for _, probe := range []string{"startupProbe", "livenessProbe"} {
		var got []string
		for _, w := range get[[]any](t, d.container, probe, "exec", "command") {
			got = append(got, w.(string))
		}
		if !slices.Equal(got, check) {
			t.Errorf("%s runs %q, HEALTHCHECK %q", probe, got, check)
		}
	}
	if !slices.Equal(check, []string{entry[0], "status"}) {
		t.Errorf("HEALTHCHECK runs %q", check)
	}

	// The stop timeout of each is longer than that of its configuration.
	for what, c := range map[string]struct {
		file, text, limit string
	}{
		"the unit": {"systemd/gorxe.toml", read(t, "systemd/gorxe.toml"), unit["TimeoutStopSec"][0]},
		"the DaemonSet": {"daemonset.yaml", d.config,
			strconv.Itoa(get[int](t, d.spec, "terminationGracePeriodSeconds")) + "s"},
	} {
		cfg, err := config.Parse(c.file, []byte(c.text))
		if err != nil {
			t.Fatal(err)
		}
		limit, err := time.ParseDuration(c.limit)
		if err != nil {
			t.Fatal(err)
		}
		if limit < cfg.Drain+5*time.Second {
			t.Errorf("%s gives the daemon %v, which takes %v to drain", what, limit, cfg.Drain)
		}
		if !strings.HasSuffix(cfg.Metrics.Listen, ":"+metricsPort) {
			t.Errorf("%s has metrics at %q", what, cfg.Metrics.Listen)
		}
	}
}

// The example configurations are valid, also with their commented-out settings.
func TestTheExampleConfigurationsAreAccepted(t *testing.T) {
	commented := regexp.MustCompile(`(?m)^# (\[\[device\]\]|\[programs\]|\w+ = .*)$`)
	for name, text := range map[string]string{"gorxe.toml": read(t, "systemd/gorxe.toml"),
		"daemonset.yaml": daemonSetFile(t).config} {
		whole := commented.ReplaceAllString(text, "$1")
		if whole == text {
			t.Errorf("%s has nothing commented out", name)
		}
		for _, text := range []string{text, whole} {
			c, err := config.Parse(name, []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			p, err := daemon.MakePlan(t.Context(), c, daemon.ThisHost())
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			var out bytes.Buffer
			p.Print(&out)
			if want := map[bool]string{false: "peers: all",
				true: "peers: 192.0.2.0/24"}[text == whole]; !strings.Contains(out.String(), want) {
				t.Errorf("%s: no %q:\n%s", name, want, &out)
			}
		}
	}
}

// unitFile returns the settings of the unit; repeated settings have several values.
func unitFile(t *testing.T) map[string][]string {
	t.Helper()
	settings := map[string][]string{}
	for line := range strings.Lines(read(t, "systemd/gorxe.service")) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			settings[key] = append(settings[key], value)
		}
	}
	return settings
}

func TestTheUnitPromisesWhatTheDaemonDoes(t *testing.T) {
	unit := unitFile(t)
	for key, want := range map[string]string{
		"Type": "notify", "User": "gorxe", "Group": "gorxe", "RuntimeDirectory": "gorxe", "CapabilityBoundingSet": "",
		"ExecStart": "/usr/local/bin/gorxe daemon -c /etc/gorxe/gorxe.toml --control-socket /run/gorxe/control.sock",
	} {
		if got := unit[key]; len(got) != 1 || got[0] != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if got := unit["ExecReload"]; got != nil {
		t.Errorf("ExecReload is %q: the daemon does not reload", got)
	}
	if f := strings.Fields(lastLine(read(t, "systemd/gorxe.sysusers"))); len(f) < 2 || f[0] != "u" ||
		f[1] != unit["User"][0] {
		t.Errorf("gorxe.sysusers makes %q", f)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// systemd-analyze verify needs the unit's program to exist.
func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze")
	}
	dir := t.TempDir()
	unit := filepath.Join(dir, "gorxe.service")
	text := strings.ReplaceAll(read(t, "systemd/gorxe.service"), "/usr/local/bin/gorxe", analyze)
	if err := os.WriteFile(unit, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	// "verify" exits with 0 if it only warns.
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil ||
		strings.Contains(string(out), "gorxe.service") {
		t.Errorf("%v\n%s", err, out)
	}
	// The exposure level, in tenths. The remaining exposure is the network, netlink and the
	// control socket.
	out, err := exec.Command(analyze, "security", "--offline=true", "--threshold=15", "--no-pager",
		unit).CombinedOutput()
	if strings.Contains(string(out), "unrecognized option") {
		t.Skipf("this systemd-analyze does not check files: %s", out)
	}
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheREADMEShowsWhatTheFilesSay(t *testing.T) {
	readme := read(t, "README.md")
	for _, m := range regexp.MustCompile(`\]\(([^)#]+)`).FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(m[1]); err != nil {
			t.Errorf("link: %v", err)
		}
	}
	for name, prefix := range map[string]string{"compose.yaml": "#   ", "docker/Dockerfile": "# "} {
		for line := range strings.Lines(read(t, name)) {
			if command, ok := strings.CutPrefix(line, prefix+"docker "); ok &&
				!strings.Contains(readme, "docker "+command) {
				t.Errorf("README.md does not show %s", line)
			}
		}
	}
}
