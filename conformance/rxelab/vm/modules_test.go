package vm

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// moduleFile builds an ELF object that has only the section with a module's information.
func moduleFile(t *testing.T, modinfo ...string) []byte {
	t.Helper()
	info := []byte(strings.Join(modinfo, "\x00") + "\x00")
	names := []byte("\x00.modinfo\x00.shstrtab\x00")
	const headLen, sectionLen = 64, 64
	dataAt, namesAt := uint64(headLen), uint64(headLen+len(info))
	sectionsAt := namesAt + uint64(len(names))
	head := elf.Header64{
		Ident: [16]byte{0x7f, 'E', 'L', 'F', byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), byte(elf.EV_CURRENT)},
		Type:  uint16(elf.ET_REL), Machine: uint16(elf.EM_X86_64), Version: uint32(elf.EV_CURRENT),
		Shoff: sectionsAt, Ehsize: headLen, Shentsize: sectionLen, Shnum: 3, Shstrndx: 2,
	}
	sections := []elf.Section64{
		{},
		{Name: 1, Type: uint32(elf.SHT_PROGBITS), Off: dataAt, Size: uint64(len(info))},
		{Name: 10, Type: uint32(elf.SHT_STRTAB), Off: namesAt, Size: uint64(len(names))},
	}
	var b bytes.Buffer
	for _, part := range []any{head, info, names, sections} {
		if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// tree writes a module directory; keys are files without ".ko", values the modules on which they
// depend.
func tree(t *testing.T, builtin string, modules map[string]string) *moduleTree {
	t.Helper()
	dir := t.TempDir()
	for name, deps := range modules {
		file := filepath.Join(dir, "kernel", name+".ko")
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, moduleFile(t, "license=GPL", "depends="+deps, "name=x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "modules.builtin"), []byte(builtin), 0o644); err != nil {
		t.Fatal(err)
	}
	mods, err := readModuleTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	return mods
}

func TestDependenciesAreLoadedFirst(t *testing.T) {
	saved := wanted
	t.Cleanup(func() { wanted = saved })
	wanted = [][]string{{"virtio_pci"}, {"rdma_rxe"}, {"veth"}}
	mods := tree(t, "kernel/drivers/virtio/virtio_pci.ko\n", map[string]string{
		"rdma_rxe": "ib_core,udp-tunnel", "ib_core": "", "net/udp-tunnel": "ib_core", "veth": "", "unused": "veth",
	})
	order, err := mods.order(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range order {
		names = append(names, m.name)
	}
	if d := cmp.Diff([]string{"ib_core", "udp_tunnel", "rdma_rxe", "veth"}, names); d != "" {
		t.Error(d)
	}
}

func TestMissingModuleIsNamed(t *testing.T) {
	saved := wanted
	t.Cleanup(func() { wanted = saved })
	wanted = [][]string{{"rdma_rxe"}}
	_, err := tree(t, "", map[string]string{"rdma_rxe": "ib_core"}).order(t.Context())
	if err == nil || !strings.Contains(err.Error(), "ib_core") {
		t.Errorf("error %v", err)
	}
}

func TestMirror(t *testing.T) {
	for _, c := range []struct{ name, file, text, want string }{
		{"nothing configured", "sources.list", "# deb http://x/debian a main\n", defaultMirror},
		{"one-line format", "sources.list", "deb [arch=amd64] http://mirror.example/debian/ bookworm main\n",
			"http://mirror.example/debian"},
		{"deb822 format", "sources.list.d/debian.sources",
			"Types: deb\nURIs: https://proxy.example/debian\nSuites: trixie\n", "https://proxy.example/debian"},
		{"another distribution", "sources.list.d/ubuntu.sources", "URIs: http://archive.ubuntu.com/ubuntu\n",
			defaultMirror},
		{"only the security archive", "sources.list",
			"deb http://deb.debian.org/debian-security bookworm-security main\n", defaultMirror},
	} {
		t.Run(c.name, func(t *testing.T) {
			etc := t.TempDir()
			file := filepath.Join(etc, c.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			if got := mirror(etc); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}

func TestCachedKernel(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "bookworm")
	tree := filepath.Join(t.TempDir(), "tree")
	saved := wanted
	t.Cleanup(func() { wanted = saved })
	wanted = [][]string{{"veth"}}
	lib := filepath.Join(tree, "lib", "modules", "6.1-test")
	for file, data := range map[string][]byte{
		filepath.Join(tree, "boot", "vmlinuz-6.1-test"): []byte("image"),
		filepath.Join(lib, "modules.builtin"):           nil,
		filepath.Join(lib, "kernel", "veth.ko"):         moduleFile(t, "depends="),
	} {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := openKernel(dir, "bookworm"); !os.IsNotExist(err) {
		t.Errorf("a kernel that was never fetched: %v", err)
	}
	if err := distill(t.Context(), tree, dir, "linux-image_1"); err != nil {
		t.Fatal(err)
	}
	got, err := openKernel(dir, "bookworm")
	if err != nil {
		t.Fatal(err)
	}
	want := &Kernel{Suite: "bookworm", Release: "6.1-test", Package: "linux-image_1",
		Image:   filepath.Join(dir, "vmlinuz"),
		Modules: []string{filepath.Join(dir, "modules", "00-veth.ko")}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wanted = [][]string{{"veth"}, {"ifb"}}
	if _, err := openKernel(dir, "bookworm"); !os.IsNotExist(err) {
		t.Errorf("a kernel with another choice of modules: %v", err)
	}
}

func TestAMachineHasNoModuleForInstructionsThatItHasNot(t *testing.T) {
	all := []string{"/k/15-crc32_generic.ko", "/k/16-crc32_pclmul.ko", "/k/17-rdma_rxe.ko"}
	for _, test := range []struct{ without, want []string }{
		{nil, all}, {[]string{"avx512f"}, all}, {[]string{"avx512f", "pclmulqdq"}, []string{all[0], all[2]}},
	} {
		c := Config{Kernel: &Kernel{Modules: all}, Without: test.without}
		if got := c.modules(); !slices.Equal(got, test.want) {
			t.Errorf("without %q: %q, want %q", test.without, got, test.want)
		}
	}
	if len(all) != 3 || all[1] != "/k/16-crc32_pclmul.ko" {
		t.Errorf("the kernel's own list is changed: %q", all)
	}
}
