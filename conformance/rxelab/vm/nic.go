package vm

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// NIC is a virtio-net interface of a machine. Its frames are sent over a Unix stream socket, each
// after its length as a 32-bit number in network byte order. Neither end of the socket supports
// offloads: one frame is one packet.
type NIC struct {
	MAC    string // such as 02:00:00:00:00:01
	MTU    int    // in bytes, as the machine sees it
	Socket string // path of the socket
	// Listen makes the machine create the socket and accept the first connection; otherwise
	// something already listens there.
	Listen bool
}

func (n NIC) arguments(index int) []string {
	server := map[bool]string{true: "on", false: "off"}[n.Listen]
	return []string{
		"-netdev", fmt.Sprintf("stream,id=net%d,server=%s,addr.type=unix,addr.path=%s", index, server, n.Socket),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=net%d,mac=%s,host_mtu=%d,romfile=", index, n.MAC, n.MTU),
	}
}

// command returns a command line, bound to cores if there are any.
func command(cores []int, argv []string) *exec.Cmd {
	if len(cores) > 0 {
		var list []string
		for _, c := range cores {
			list = append(list, strconv.Itoa(c))
		}
		argv = append([]string{"taskset", "-c", strings.Join(list, ",")}, argv...)
	}
	return exec.Command(argv[0], argv[1:]...)
}

// CPU returns the processor time of the machine, including its emulation.
func (v *VM) CPU() (time.Duration, error) { return ProcessTime(v.cmd.Process.Pid) }

// ProcessTime returns the processor time that a process has used.
func ProcessTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	return cpuTime(string(text))
}

// cpuTime parses the fields 14 and 15 of /proc/PID/stat (proc_pid_stat(5)), in hundredths of a
// second. Field 2 is the program's name in parentheses, which may contain any character.
func cpuTime(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(fields) < 13 {
		return 0, fmt.Errorf("the state of a process has %d fields behind its name, want 13 and more: %.80q",
			len(fields), stat)
	}
	var sum time.Duration
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the processor time of a process: %w", err)
		}
		sum += time.Duration(ticks) * time.Second / 100
	}
	return sum, nil
}
