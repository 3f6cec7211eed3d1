package vm

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestInterfacesOfAMachine(t *testing.T) {
	v := &VM{dir: "/tmp/x"}
	c := Config{Kernel: &Kernel{Image: "vmlinuz"}, NICs: []NIC{
		{MAC: "02:00:00:00:00:01", MTU: 9000, Socket: "/tmp/a.sock", Listen: true},
		{MAC: "02:00:00:00:01:01", MTU: 1500, Socket: "/tmp/b.sock"},
	}}
	line := strings.Join(v.arguments(c, "initrd"), " ")
	for _, want := range []string{
		"-netdev stream,id=net0,server=on,addr.type=unix,addr.path=/tmp/a.sock -device virtio-net-pci,netdev=net0,mac=02:00:00:00:00:01,host_mtu=9000,",
		"-netdev stream,id=net1,server=off,addr.type=unix,addr.path=/tmp/b.sock -device virtio-net-pci,netdev=net1,mac=02:00:00:00:01:01,host_mtu=1500,",
	} {
		if !strings.Contains(line, want) {
			t.Errorf("%s\nlacks %s", line, want)
		}
	}
	c.NICs = nil
	if line := strings.Join(v.arguments(c, "initrd"), " "); strings.Contains(line, "netdev") {
		t.Errorf("a machine without interfaces has %s", line)
	}
}

func TestMachinesAreBoundToCores(t *testing.T) {
	if got := command([]int{1, 3}, []string{"qemu", "-smp"}).Args; !slices.Equal(got,
		[]string{"taskset", "-c", "1,3", "qemu", "-smp"}) {
		t.Errorf("%q", got)
	}
	if got := command(nil, []string{"qemu", "-smp"}).Args; !slices.Equal(got, []string{"qemu", "-smp"}) {
		t.Errorf("%q", got)
	}
}

func TestProcessorTime(t *testing.T) {
	const fields = " S 1 4711 4711 0 -1 4194560 500 0 0 0 1234 66 0 0 20 0 4 0 100 2000 300\n"
	for _, name := range []string{"(qemu-system-x86)", "(a) 1 2 (b)"} {
		if got, err := cpuTime("4711 " + name + fields); err != nil || got != 13*time.Second {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, text := range []string{"", "4711 (x) S 1", "4711 (x) S 1 2 3 4 5 6 7 8 9 10 a b c"} {
		if _, err := cpuTime(text); err == nil {
			t.Errorf("%q has a processor time", text)
		}
	}
}
