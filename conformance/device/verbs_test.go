package device

import (
	"os/exec"
	"strings"
	"testing"
)

// A command of a user passes one shell, and with ssh a second one on the device.
func TestAPythonProgramSurvivesOneShellAndTwo(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	command := python + " -c " + quoted("import sys\nprint('it\\'s', \"$HOME\", sys.argv[1:])") + " flush 7"
	for shells, line := range map[string]string{
		"one": "exec " + command,
		// As ssh does, the first shell joins the arguments with spaces for the second one.
		"two": `second() { exec sh -c "exec $*"; }; second ` + command,
	} {
		out, err := exec.Command("sh", "-c", line).CombinedOutput()
		if got, want := strings.TrimSpace(string(out)), "it's $HOME ['flush', '7']"; err != nil || got != want {
			t.Errorf("with %s: %q, %v, want %q", shells, got, err, want)
		}
	}
}
