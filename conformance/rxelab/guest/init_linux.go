package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
	"golang.org/x/sys/unix"
)

const (
	agentArg    = "agent"
	warningsEnv = "RXELAB_WARNINGS"
	searchPath  = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
)

// Main is the whole program: process 1 of the machine and, as its child, the agent.
func Main() {
	switch {
	case os.Getpid() == 1:
		fmt.Fprintln(os.Stderr, "rxelab: machine stops:", runInit())
		_ = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART) // with -no-reboot this ends QEMU
	case len(os.Args) == 2 && os.Args[1] == agentArg:
		if err := runAgent(); err != nil {
			fmt.Fprintln(os.Stderr, "rxelab agent:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintln(os.Stderr,
			"this program is the init of the rxelab virtual machine; start the lab with: make interop")
		os.Exit(2)
	}
}

type mount struct {
	source, target, fstype string
	flags                  uintptr
	data                   string
}

var early = []mount{
	{"proc", "/proc", "proc", 0, ""},
	{"sysfs", "/sys", "sysfs", 0, ""},
	{"devtmpfs", "/dev", "devtmpfs", 0, ""},
}

// The host's tree is read-only. Files that programs write are in memory and vanish with the
// machine.
var root = []mount{
	{wire.HostTag, "/host", "9p", unix.MS_RDONLY, "trans=virtio,version=9p2000.L,msize=524288,cache=loose"},
	{"tmpfs", "/layer", "tmpfs", 0, "size=60%"},
	{"overlay", "/new", "overlay", 0, "lowerdir=/host,upperdir=/layer/upper,workdir=/layer/work"},
}

var late = []mount{
	{"tmpfs", "/tmp", "tmpfs", 0, ""},
	{"tmpfs", "/run", "tmpfs", 0, ""},
	{"devpts", "/dev/pts", "devpts", 0, ""},
	{"tmpfs", "/dev/shm", "tmpfs", 0, ""},
}

// runInit runs the agent and returns only when the machine has nothing left to do.
func runInit() error {
	if err := mountAll(early); err != nil {
		return err
	}
	warnings := loadModules(wire.ModuleDir)
	if err := mountAll(root[:2]); err != nil {
		return err
	}
	for _, d := range []string{"/layer/upper", "/layer/work"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := mountAll(root[2:]); err != nil {
		return err
	}
	if err := enter("/new"); err != nil {
		return err
	}
	if err := mountAll(late); err != nil {
		return err
	}
	warnings = append(warnings, limits()...)
	return superviseAgent(warnings)
}

func mountAll(ms []mount) error {
	for _, m := range ms {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.source, m.target, m.fstype, m.flags, m.data); err != nil {
			return fmt.Errorf("mount %s on %s: %w", m.fstype, m.target, err)
		}
	}
	return nil
}

// loadModules loads every module in dir. A module that does not load is a warning, because the
// machine may work without it.
func loadModules(dir string) (warnings []string) {
	names, err := os.ReadDir(dir)
	if err != nil {
		return []string{err.Error()}
	}
	for _, n := range names { // sorted by ReadDir
		f, err := os.Open(filepath.Join(dir, n.Name()))
		if err == nil {
			err = unix.FinitModule(int(f.Fd()), "", 0)
			f.Close()
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			warnings = append(warnings, fmt.Sprintf("module %s: %v", n.Name(), err))
		}
	}
	return warnings
}

// enter makes dir the root and moves the kernel's file systems into it.
func enter(dir string) error {
	for _, m := range early {
		to := dir + m.target
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.target, to, "", unix.MS_MOVE, ""); err != nil {
			return fmt.Errorf("move %s: %w", m.target, err)
		}
	}
	if err := unix.Chdir(dir); err != nil {
		return err
	}
	if err := unix.Mount(".", "/", "", unix.MS_MOVE, ""); err != nil {
		return fmt.Errorf("move the new root: %w", err)
	}
	if err := unix.Chroot("."); err != nil {
		return fmt.Errorf("chroot: %w", err)
	}
	return unix.Chdir("/")
}

// limits removes the limit of pinned memory for RDMA programs.
func limits() (warnings []string) {
	all := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if err := unix.Setrlimit(unix.RLIMIT_MEMLOCK, &all); err != nil {
		warnings = append(warnings, fmt.Sprintf("memlock limit: %v", err))
	}
	return warnings
}

// superviseAgent runs the agent and reaps orphans until the agent ends.
func superviseAgent(warnings []string) error {
	w, err := json.Marshal(warnings)
	if err != nil {
		return err
	}
	cmd := exec.Command("/proc/self/exe", agentArg)
	cmd.Env = []string{"PATH=" + searchPath, "HOME=/root", "LANG=C.UTF-8", warningsEnv + "=" + string(w)}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	for {
		pid, err := unix.Wait4(-1, nil, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return fmt.Errorf("wait: %w", err)
		case pid == cmd.Process.Pid:
			return errors.New("the agent ended")
		}
	}
}

// uptime returns the time since the kernel started.
func uptime() time.Duration {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts) != nil {
		return 0
	}
	return time.Duration(ts.Nano())
}

func release() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "unknown"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// findPort returns the device of the virtio-serial port with the given name.
func findPort(name string) (string, error) {
	files, err := filepath.Glob("/sys/class/virtio-ports/*/name")
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && strings.TrimSpace(string(b)) == name
	})
	if i < 0 {
		return "", fmt.Errorf("no virtio-serial port %q among %d: %w", name, len(files), syscall.ENODEV)
	}
	return "/dev/" + filepath.Base(filepath.Dir(files[i])), nil
}
