package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"net/netip"
	"path"
	"strconv"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
	"github.com/gorxe/gorxe/conformance/rxelab/vm"
)

// GIDs finds the indexes of the RoCE v2 GIDs of an end's addresses in sysfs.
func GIDs(ctx context.Context, s *vm.Session, e cell.End) (map[cell.Family]int, error) {
	dir := "/sys/class/infiniband/" + e.Device + "/ports/1"
	files, err := s.ReadFiles(ctx, dir+"/gids/*", dir+"/gid_attrs/types/*")
	if err != nil {
		return nil, err
	}
	found := map[cell.Family]int{}
	for name, text := range files {
		index := path.Base(name)
		gid, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || strings.TrimSpace(files[dir+"/gid_attrs/types/"+index]) != "RoCE v2" {
			continue
		}
		if n, err := strconv.Atoi(index); err == nil {
			note(found, e.Addr, gid, n)
		}
	}
	return found, complete(found, e)
}

// gorxeGIDs gets the indexes of gorxe's GIDs from gorxe devinfo.
func (l *Lane) gorxeGIDs(ctx context.Context) (map[cell.Family]int, error) {
	out, err := l.Session.RunIn(ctx, l.Netns, cell.GorxePath, "devinfo", "-v", "-d", l.Gorxe.Device, "--json")
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
	found := map[cell.Family]int{}
	for _, d := range devices {
		for _, g := range d.GIDs {
			note(found, l.Gorxe.Addr, g.GID, g.Index)
		}
	}
	return found, complete(found, l.Gorxe)
}

func note(found map[cell.Family]int, addrs map[cell.Family]netip.Addr, gid netip.Addr, index int) {
	for f, a := range addrs {
		if gid.Unmap() == a {
			found[f] = index
		}
	}
}

func complete(found map[cell.Family]int, e cell.End) error {
	for f, a := range e.Addr {
		if _, ok := found[f]; !ok {
			return fmt.Errorf("%s has no RoCE v2 GID for %s", e.Device, a)
		}
	}
	return nil
}
