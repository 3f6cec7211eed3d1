package rxelab

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// rxeGIDs finds the RoCE v2 GIDs of an end's addresses in sysfs.
func rxeGIDs(ctx context.Context, s *vm.Session, e end) (map[Family]int, error) {
	dir := "/sys/class/infiniband/" + e.device + "/ports/1"
	files, err := s.ReadFiles(ctx, dir+"/gids/*", dir+"/gid_attrs/types/*")
	if err != nil {
		return nil, err
	}
	found := map[Family]int{}
	for name, text := range files {
		index := path.Base(name)
		gid, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || strings.TrimSpace(files[dir+"/gid_attrs/types/"+index]) != "RoCE v2" {
			continue
		}
		if n, err := strconv.Atoi(index); err == nil {
			note(found, e.addr, gid, n)
		}
	}
	return found, complete(found, e)
}

// gorxeGIDs asks gorxe itself for the indexes of its GIDs.
func (l *lane) gorxeGIDs(ctx context.Context) (map[Family]int, error) {
	out, err := l.s.RunIn(ctx, l.netns, gorxePath, "devinfo", "-v", "-d", l.gorxe.device, "--json")
	if err != nil {
		return nil, err
	}
	var devices []struct {
		GIDs []struct {
			Index int        `json:"index"`
			GID   netip.Addr `json:"gid"`
		} `json:"gids"`
	}
	if err := json.Unmarshal([]byte(out), &devices); err != nil {
		return nil, fmt.Errorf("gorxe devinfo --json: %w in %q", err, out)
	}
	found := map[Family]int{}
	for _, d := range devices {
		for _, g := range d.GIDs {
			note(found, l.gorxe.addr, g.GID, g.Index)
		}
	}
	return found, complete(found, l.gorxe)
}

func note(found map[Family]int, addrs map[Family]netip.Addr, gid netip.Addr, index int) {
	for f, a := range addrs {
		if gid.Unmap() == a {
			found[f] = index
		}
	}
}

func complete(found map[Family]int, e end) error {
	for f, a := range e.addr {
		if _, ok := found[f]; !ok {
			return fmt.Errorf("%s has no RoCE v2 GID for %s", e.device, a)
		}
	}
	return nil
}
