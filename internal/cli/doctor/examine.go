package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/serve/daemon/control"
	"github.com/gorxe/gorxe/internal/trap"
)

// Examine checks this host.
func Examine(ctx context.Context, a *app.App) []Finding {
	root := os.DirFS("/")
	findings := []Finding{system(), listener(trap.Nested(), trap.Probe), library(root), provider(root)}
	findings = append(findings, limits()...)
	daemon := daemonOf(ctx, a)
	findings = append(findings, daemon.finding)
	return append(findings, network(root, daemon.running)...)
}

func system() Finding {
	text := strings.TrimSpace(kernel() + " " + runtime.GOOS + "/" + runtime.GOARCH)
	if runtime.GOOS != "linux" {
		return Finding{"system", Warn, text, "'gorxe run', raw links and XDP need Linux"}
	}
	return Finding{Subject: "system", State: OK, Text: text}
}

// listener reports whether 'gorxe run' can serve programs. nested and probe are the results of
// [trap.Nested] and [trap.Probe].
func listener(nested bool, probe func() error) Finding {
	const subject = "gorxe run"
	if nested {
		return Finding{subject, OK, "this is inside a gorxe run, which serves programs", ""}
	}
	err := probe()
	if err == nil {
		return Finding{subject, OK,
			"the kernel lets gorxe answer the calls of programs (seccomp user notification)", ""}
	}
	// The text of the error has the remedy after a semicolon.
	what, advice, _ := strings.Cut(strings.TrimPrefix(err.Error(), "trap: "), "; ")
	if errors.Is(err, trap.ErrUnsupported) {
		advice = "use the commands of gorxe itself, or Linux"
	}
	return Finding{subject, Fail, what, advice}
}

// daemon is the finding about the daemon of this user or of root.
type daemon struct {
	finding Finding
	running bool
}

func daemonOf(ctx context.Context, a *app.App) daemon {
	var s control.Status
	if err := a.Control("").Get(ctx, "/v1/status", nil, &s); err != nil {
		return daemon{finding: Finding{"daemon", OK, "none is running that this user can reach", ""}}
	}
	var devices []string
	for _, d := range s.Devices {
		devices = append(devices, d.Name)
	}
	text := fmt.Sprintf("PID %d, %s, version %s, devices: %s", s.PID, s.State, s.Version, strings.Join(devices, " "))
	f := Finding{Subject: "daemon", State: OK, Text: text}
	if s.Version != app.BuildVersion() {
		f.State, f.Advice = Warn, "this gorxe is "+app.BuildVersion()+": restart the daemon with it"
	}
	return daemon{f, true}
}
