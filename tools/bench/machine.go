package bench

import (
	"debug/buildinfo"
	"runtime"
	"strings"
)

// Machine describes where a run took place.
type Machine struct {
	CPU         string            `json:"cpu"`
	Cores       int               `json:"cores"`    // of the system
	CoreOf      [2]int            `json:"core_of"`  // first core of the server's and client's end
	PerEnd      int               `json:"per_end"`  // consecutive cores of each end; 0: one
	Governor    string            `json:"governor"` // of the processor frequency, "" if unknown
	Hypervisor  string            `json:"virtual"`  // hypervisor, "" for real hardware
	MemoryMiB   uint64            `json:"memory_mib"`
	Kernel      string            `json:"kernel"`
	System      string            `json:"system"`
	Congestion  string            `json:"tcp_congestion"` // default congestion control of TCP
	LoadAverage [3]float64        `json:"load_average"`   // when the run began
	Go          string            `json:"go"`
	Revision    string            `json:"revision"` // of gorxe
	MTU         int               `json:"mtu"`      // of the veth pair
	Tools       map[string]string `json:"tools"`    // versions
}

// revisionOf returns the commit that a Go program was built from, "" if its file does not contain
// it.
func revisionOf(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return ""
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", modified"
		}
	}
	return revision + dirty
}

// describe describes this machine from files under root, which is "/" except in tests.
func describe(root string) Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version(), Tools: map[string]string{}}
	m.fromFiles(root)
	return m
}

// valueOf returns the value of the first line "key: value", as in /proc/cpuinfo.
func valueOf(text, key string) string {
	for line := range strings.Lines(text) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return ""
}
