package vm

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// wanted are the modules that the lab needs, in the order of loading; their dependencies are
// loaded before them. Each entry lists alternative names in different kernels; the first that
// exists is used.
var wanted = [][]string{
	{"virtio_pci"}, {"virtio_console"}, {"virtio_rng"},
	{"9pnet_virtio"}, {"9p"}, {"overlay"},
	{"af_packet"}, {"virtio_net"}, {"veth"}, {"ifb"},
	{"sch_netem"}, {"sch_ingress"}, {"cls_matchall"}, {"act_mirred"},
	{"crc32_generic"}, {"crc32_pclmul"}, // rxe requests "crc32" from the crypto layer
	{"ib_uverbs"}, {"rdma_ucm"}, {"rdma_rxe"},
}

// moduleUses has the processor feature, by QEMU's name, that a module needs.
var moduleUses = map[string]string{"crc32_pclmul": "pclmulqdq"}

// moduleTree is the module directory of one kernel package.
type moduleTree struct {
	files   map[string]string // path by name with underscores
	builtin map[string]bool
}

func moduleName(file string) string {
	name, _, _ := strings.Cut(filepath.Base(file), ".ko")
	return strings.ReplaceAll(name, "-", "_")
}

func readModuleTree(dir string) (*moduleTree, error) {
	t := &moduleTree{files: map[string]string{}, builtin: map[string]bool{}}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && strings.Contains(d.Name(), ".ko") {
			t.files[moduleName(p)] = p
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	list, err := os.ReadFile(filepath.Join(dir, "modules.builtin"))
	if err != nil {
		return nil, err
	}
	for _, f := range strings.Fields(string(list)) {
		t.builtin[moduleName(f)] = true
	}
	return t, nil
}

// order returns the modules to load, dependencies first, with uncompressed content.
func (t *moduleTree) order(ctx context.Context) ([]module, error) {
	var out []module
	seen := map[string]bool{}
	var visit func(name string) error
	visit = func(name string) error {
		file, ok := t.files[name]
		if seen[name] || !ok && t.builtin[name] {
			return nil
		}
		if !ok {
			return fmt.Errorf("the kernel package has no module %s", name)
		}
		seen[name] = true
		data, err := readModule(ctx, file)
		if err != nil {
			return err
		}
		deps, err := dependencies(data)
		if err != nil {
			return fmt.Errorf("module %s: %w", name, err)
		}
		for _, d := range deps {
			if err := visit(d); err != nil {
				return err
			}
		}
		out = append(out, module{name, data})
		return nil
	}
	for _, names := range wanted {
		if err := visit(t.choose(names)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (t *moduleTree) choose(names []string) string {
	for _, n := range names {
		if _, ok := t.files[n]; ok || t.builtin[n] {
			return n
		}
	}
	return names[0]
}

type module struct {
	name string
	data []byte
}

// readModule returns the uncompressed module. Debian compresses modules with xz since trixie.
func readModule(ctx context.Context, file string) ([]byte, error) {
	switch filepath.Ext(file) {
	case ".ko":
		return os.ReadFile(file)
	case ".xz":
		b, err := exec.CommandContext(ctx, "xz", "-dc", file).Output()
		if err != nil {
			return nil, fmt.Errorf("xz -dc %s: %w", file, err)
		}
		return b, nil
	}
	return nil, fmt.Errorf("module %s: unknown compression", file)
}

// dependencies parses the "depends=" entry of the .modinfo section.
func dependencies(data []byte) ([]string, error) {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	s := f.Section(".modinfo")
	if s == nil {
		return nil, fmt.Errorf("no .modinfo section")
	}
	info, err := s.Data()
	if err != nil {
		return nil, err
	}
	for line := range bytes.SplitSeq(info, []byte{0}) {
		if v, ok := bytes.CutPrefix(line, []byte("depends=")); ok {
			return strings.FieldsFunc(strings.ReplaceAll(string(v), "-", "_"),
				func(r rune) bool { return r == ',' }), nil
		}
	}
	return nil, nil
}
