package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// fromFiles sets the fields that the files of a Linux system provide. Others stay empty.
func (m *Machine) fromFiles(root string) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	cpu := read("proc/cpuinfo")
	m.CPU = valueOf(cpu, "model name")
	for line := range strings.Lines(cpu) {
		if strings.HasPrefix(line, "processor") {
			m.Cores++
		}
	}
	if slices.Contains(strings.Fields(valueOf(cpu, "flags")), "hypervisor") {
		m.Hypervisor = strings.TrimSpace(read("sys/class/dmi/id/sys_vendor") + " " +
			read("sys/class/dmi/id/product_name"))
		if m.Hypervisor == "" {
			m.Hypervisor = "a virtual machine"
		}
	}
	m.Governor = read("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	m.Kernel = read("proc/sys/kernel/osrelease")
	m.Congestion = read("proc/sys/net/ipv4/tcp_congestion_control")
	m.LoadAverage = parseLoadAverage(read("proc/loadavg"))
	if kb, err := strconv.ParseUint(strings.TrimSuffix(valueOf(read("proc/meminfo"), "MemTotal"), " kB"), 10,
		64); err == nil {
		m.MemoryMiB = kb >> 10
	}
}

func parseLoadAverage(text string) (out [3]float64) {
	// A short or malformed line leaves zeros.
	_, _ = fmt.Sscan(text, &out[0], &out[1], &out[2])
	return out
}

// ticks are the times of all processors together since the system started, in hundredths of a
// second.
type ticks struct {
	processes float64 // in processes, in user and kernel mode
	steal     float64 // taken by other guests of the hypervisor
}

// parseTicks parses the first line of /proc/stat (proc_stat(5)). Interrupt time is left out,
// because it includes the network processing of all processes.
func parseTicks(text string) (ticks, error) {
	f := strings.Fields(text[:max(0, strings.IndexByte(text+"\n", '\n'))])
	if len(f) < 9 || f[0] != "cpu" {
		return ticks{}, fmt.Errorf("/proc/stat begins with %.60q, want the processors' times", text)
	}
	var v [9]float64
	for i := 1; i < len(v); i++ {
		var err error
		if v[i], err = strconv.ParseFloat(f[i], 64); err != nil {
			return ticks{}, fmt.Errorf("/proc/stat: %w", err)
		}
	}
	return ticks{processes: v[1] + v[2] + v[3], steal: v[8]}, nil
}

// tick is the unit of /proc/stat as Linux reports it to processes, in seconds.
const tick = 0.01

// loadOf returns the load by others during a measurement of the given duration; own is the
// processor time of the measurement's processes, in seconds.
func loadOf(before, after ticks, seconds, own, average float64) Load {
	if seconds <= 0 {
		return Load{Average: average}
	}
	return Load{
		Average: average,
		Steal:   max(0, (after.steal-before.steal)*tick/seconds),
		Others:  max(0, ((after.processes-before.processes)*tick-own)/seconds),
	}
}
