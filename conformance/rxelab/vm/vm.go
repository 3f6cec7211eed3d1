// Package vm boots a stock Debian kernel under QEMU as an ordinary user and runs programs in it.
// A [VM] is controlled through its [Session], over a virtio-serial port. It has no network except
// cables ([NIC], [Cable]) to other machines, and no disk: its root is the host's root, read-only,
// below a layer in memory, so every program that is installed on the host runs in it.
// [FetchKernel] and [FetchPrograms] fill a cache with kernels and programs of Debian releases.
package vm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// Emulator is the program that emulates a machine.
const Emulator = "qemu-system-x86_64"

// Config describes a machine.
type Config struct {
	Kernel *Kernel
	Guest  string // path of the static Linux program that becomes /init
	CPUs   int    // default 2
	Memory int    // in MiB, default 2048
	// Boot is the time limit of a boot, default 90 seconds. A boot that exceeds it is retried
	// once.
	Boot  time.Duration
	NICs  []NIC
	Cores []int // cores of the host that the machine may use; nil: all
	// Without lists processor features, by QEMU's names, that the machine does not have.
	Without []string
}

// VM is a running machine.
type VM struct {
	*Session
	dir  string
	cmd  *exec.Cmd
	done chan struct{}
	exit error
	out  bytes.Buffer // output of QEMU itself
}

// Boot starts a machine and waits until it accepts commands. The machine ends with Close, or with
// this process.
func Boot(ctx context.Context, c Config) (*VM, error) {
	c.CPUs = cmp.Or(c.CPUs, 2)
	c.Memory = cmp.Or(c.Memory, 2048)
	c.Boot = cmp.Or(c.Boot, 90*time.Second)
	v, err := start(ctx, c)
	// About one in hundreds of boots of an emulated kernel hangs or panics.
	if errors.Is(err, errNotReady) || errors.Is(err, errPanic) {
		return start(ctx, c)
	}
	return v, err
}

var (
	errNotReady = errors.New("not ready")
	errPanic    = errors.New("kernel panic")
)

func start(ctx context.Context, c Config) (*VM, error) {
	dir, err := os.MkdirTemp("", "rxelab-") // short: the path of the socket must fit in 108 bytes
	if err != nil {
		return nil, err
	}
	v := &VM{dir: dir, done: make(chan struct{})}
	if err := v.boot(ctx, c); err != nil {
		serial := v.Serial()
		_ = v.Close()
		if strings.Contains(serial, "Kernel panic") {
			err = fmt.Errorf("%w: %w", errPanic, err)
		}
		return nil, fmt.Errorf("boot of %s: %w%s%s", c.Kernel.Release, err, excerpt("QEMU", v.out.String()),
			excerpt("console", serial))
	}
	return v, nil
}

func excerpt(what, text string) string {
	const room = 1500
	if text == "" {
		return ""
	}
	return fmt.Sprintf("\n%s:\n%s", what, text[max(0, len(text)-room):])
}

func (v *VM) boot(ctx context.Context, c Config) error {
	initrd := filepath.Join(v.dir, "initrd")
	if err := writeInitramfs(initrd, c.Guest, c.modules()); err != nil {
		return err
	}
	v.cmd = command(c.Cores, append([]string{Emulator}, v.arguments(c, initrd)...))
	v.cmd.Stdout, v.cmd.Stderr = &v.out, &v.out
	v.cmd.SysProcAttr = ownGroup()
	if err := v.cmd.Start(); err != nil {
		v.cmd = nil
		return err
	}
	go func() {
		v.exit = v.cmd.Wait()
		close(v.done)
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, c.Boot, fmt.Errorf("%w after %v", errNotReady, c.Boot))
	defer cancel()
	conn, err := v.dial(ctx)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	go func() { // not on every host does the end of a machine close the connection
		<-v.done
		conn.Close()
	}()
	v.Session, err = NewSession(conn)
	if err == nil {
		return nil
	}
	conn.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// processor returns the processor model of the machine.
func (c *Config) processor() string {
	// cx16=off: QEMU's emulation of CMPXCHG16B sometimes leaves bits of an operand in EFLAGS. An
	// interrupt right after it takes them for the flags of a real-mode task, and the kernel dies
	// of a double fault in kmalloc, once in half an hour of traffic.
	model := "max,cx16=off"
	for _, feature := range c.Without {
		model += "," + feature + "=off"
	}
	return model
}

// modules returns the paths of the kernel's modules, without those whose instructions the
// processor lacks: they would not load.
func (c *Config) modules() []string {
	return slices.DeleteFunc(slices.Clone(c.Kernel.Modules), func(file string) bool {
		_, name, _ := strings.Cut(filepath.Base(file), "-") // without the number that orders the modules for loading
		return slices.Contains(c.Without, moduleUses[strings.TrimSuffix(name, ".ko")])
	})
}

func (v *VM) arguments(c Config, initrd string) []string {
	argv := []string{
		"-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-monitor", "none", "-nic", "none",
		"-machine", "q35", "-accel", "tcg,thread=multi,tb-size=512", "-cpu", c.processor(), "-smp",
		strconv.Itoa(c.CPUs), "-m", strconv.Itoa(c.Memory),
		"-kernel", c.Kernel.Image, "-initrd", initrd,
		// tsc=reliable: on a busy host the kernel stops trusting its clock source, and the code
		// patching that follows (a static key) sometimes kills an emulated kernel (int3 in
		// sched_clock_cpu).
		"-append", "console=ttyS0 loglevel=5 panic=-1 mitigations=off random.trust_cpu=on tsc=reliable rdinit=/init",
		"-serial", "file:" + v.serialFile(),
		"-device", "virtio-rng-pci",
		"-fsdev", "local,id=root,path=/,security_model=none,readonly=on,multidevs=remap",
		"-device", "virtio-9p-pci,fsdev=root,mount_tag=" + wire.HostTag,
		"-device", "virtio-serial-pci",
		"-chardev", "socket,id=agent,path=" + v.socket() + ",server=on,wait=off",
		"-device", "virtserialport,chardev=agent,name=" + wire.PortName,
	}
	for i, n := range c.NICs {
		argv = append(argv, n.arguments(i)...)
	}
	return argv
}

func (v *VM) socket() string     { return filepath.Join(v.dir, "agent.sock") }
func (v *VM) serialFile() string { return filepath.Join(v.dir, "console.log") }

// dial connects to the agent's port as soon as QEMU has made it, which is long before the guest
// opens its end.
func (v *VM) dial(ctx context.Context) (net.Conn, error) {
	retry := time.NewTicker(20 * time.Millisecond)
	defer retry.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", v.socket())
		if err == nil {
			return conn, nil
		}
		select {
		case <-retry.C:
		case <-v.done:
			return nil, errors.Join(fmt.Errorf("%s ended", Emulator), v.exit)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Serial returns the console output of the kernel.
func (v *VM) Serial() string {
	b, err := os.ReadFile(v.serialFile())
	if err != nil {
		return ""
	}
	return string(bytes.ReplaceAll(b, []byte("\r"), nil))
}

// Stopped returns a channel that is closed when the machine has ended.
func (v *VM) Stopped() <-chan struct{} { return v.done }

// Close ends the machine and removes its files.
func (v *VM) Close() error {
	if v.Session != nil {
		_ = v.Session.Close()
	}
	if v.cmd != nil {
		_ = v.cmd.Process.Kill() // it has no state to save
		<-v.done
	}
	return os.RemoveAll(v.dir)
}

// writeInitramfs packs the guest program and the modules.
func writeInitramfs(file, guest string, modules []string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	a := newArchive(f)
	for _, d := range []string{"proc", "sys", "dev", "host", "layer", "new"} {
		a.mkdir(d)
	}
	add := func(name string, mode uint32, from string) error {
		b, err := os.ReadFile(from)
		if err == nil {
			a.add(name, mode, b)
		}
		return err
	}
	if err := add("init", modeExec, guest); err != nil {
		return err
	}
	for _, m := range modules {
		if err := add(wire.ModuleDir+"/"+filepath.Base(m), modeFile, m); err != nil {
			return err
		}
	}
	return a.close()
}
