package xsk

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"github.com/gorxe/gorxe/internal/testnet"
	"github.com/vishvananda/netlink"
	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// programOn is the id of the program on a host's interface, 0 for none.
func programOn(t testing.TB, ns netns.NsHandle) (id uint32) {
	t.Helper()
	testnet.OnInterface(t, ns, func(l netlink.Link) error {
		if x := l.Attrs().Xdp; x != nil && x.Attached {
			id = x.ProgId
		}
		return nil
	})
	return id
}

func TestTheProgramIsThereAsLongAsAnEndpointIs(t *testing.T) {
	hosts := connect(t, 1500)
	for range 2 {
		a, b := openIn(t, hosts.Left, left, Options{}), openIn(t, hosts.Left, left6, Options{})
		if programOn(t, hosts.Left) == 0 {
			t.Error("no program with two endpoints")
		}
		closeEnd(t, a)
		if programOn(t, hosts.Left) == 0 {
			t.Error("no program with an endpoint left")
		}
		closeEnd(t, b)
		if id := programOn(t, hosts.Left); id != 0 {
			t.Errorf("program %d without an endpoint", id)
		}
	}
	interfaces.Lock()
	defer interfaces.Unlock()
	if n := len(interfaces.at); n != 0 {
		t.Errorf("%d interfaces are remembered", n)
	}
}

// asProcess is an environment variable that makes this program open an endpoint and wait to be
// killed.
const asProcess = "XSK_PROCESS"

func TestMain(m *testing.M) {
	if os.Getenv(asProcess) == "" {
		os.Exit(m.Run())
	}
	ifc, err := net.InterfaceByName(testnet.Interface)
	if err == nil {
		_, err = Open(ifc.Index, left, Options{Port: testPort})
	}
	fmt.Println(err)
	_, _ = os.Stdin.Read(make([]byte, 1))
}

func TestAKilledProcessLeavesNoProgram(t *testing.T) {
	hosts := connect(t, 9000)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), asProcess+"=1")
	// The child waits until this end of the pipe is closed.
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	testnet.In(t, hosts.Left, cmd.Start)
	said, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || said != "<nil>\n" {
		t.Errorf("the process says %q, %v", said, err)
	}
	if programOn(t, hosts.Left) == 0 {
		t.Error("the process has no program on the interface")
	}
	if _, err := tryOpen(t, hosts.Left, left6, Options{}); !errors.Is(err, ErrOccupied) ||
		!strings.Contains(err.Error(), "gorxe_xdp") {
		t.Errorf("opening beside it: %v, want ErrOccupied and the program's name", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("a killed process ends well")
	}
	if id := programOn(t, hosts.Left); id != 0 {
		t.Errorf("the killed process left program %d", id)
	}
	closeEnd(t, openIn(t, hosts.Left, left, Options{}))
}

// A queue that another program uses is indistinguishable from one that the kernel is about to
// release.
func TestAQueueThatAnotherSocketHasIsRefused(t *testing.T) {
	hosts := connect(t, 1500)
	a := openIn(t, hosts.Left, left, Options{})
	testnet.In(t, hosts.Left, func() error {
		i := &Interface{index: a.ifc.index}
		if err := i.openQueues(Options{}, 1, false); !errors.Is(err, unix.EBUSY) ||
			!strings.Contains(err.Error(), "another program") {
			t.Errorf("%v, want EBUSY and why", err)
		}
		return nil
	})
}

func TestAnInterfaceWithAnotherProgramIsRefused(t *testing.T) {
	hosts := connect(t, 1500)
	other, err := ebpf.NewProgram(&ebpf.ProgramSpec{
		Name: "other", Type: ebpf.XDP, License: "Apache-2.0",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, xdpPass), asm.Return()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for _, m := range modes {
		var hook link.Link
		testnet.OnInterface(t, hosts.Left, func(l netlink.Link) (err error) {
			hook, err = link.AttachXDP(link.XDPOptions{Program: other, Interface: l.Attrs().Index, Flags: m.flag})
			return err
		})
		_, err := tryOpen(t, hosts.Left, left, Options{})
		if !errors.Is(err, ErrOccupied) || !strings.Contains(err.Error(), `"other"`) {
			t.Errorf("%s: %v, want ErrOccupied and the program's name", m.name, err)
		}
		if programOn(t, hosts.Left) == 0 {
			t.Errorf("%s: the other program is gone", m.name)
		}
		if err := hook.Close(); err != nil {
			t.Fatal(err)
		}
		closeEnd(t, openIn(t, hosts.Left, left, Options{}))
	}
}

func TestWhatIsNoInterfaceIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("loading an XDP program takes root")
	}
	if _, err := Open(1<<30, left, Options{Port: testPort}); err == nil {
		t.Error("an interface that does not exist can be opened")
	}
}

// An unprivileged user gets an error that names the required capabilities.
func TestWithoutPrivilegesTheErrorSaysSo(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("this is root")
	}
	lo, err := net.InterfaceByName("lo")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(lo.Index, left, Options{Port: testPort}); err == nil || !strings.Contains(err.Error(), "root") {
		t.Errorf("Open: %v, want an error that names root", err)
	}
}
