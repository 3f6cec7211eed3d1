//go:build linux && (amd64 || arm64)

package trap

// A resolver decides which paths belong to the tree. It examines only the text of a path: it does
// not follow symbolic links of the host, so it does not recognize a path that reaches the tree
// through such a link.
type resolver struct {
	roots []string // clean absolute paths without a trailing slash
}

// owned reports whether the clean path p is a root or below one.
func (r *resolver) owned(p []byte) bool {
	for _, root := range r.roots {
		n := len(root)
		if len(p) >= n && string(p[:n]) == root && (len(p) == n || p[n] == '/') {
			return true
		}
	}
	return false
}

// resolve appends the clean form of the absolute path p to dst: without "//", "/." and a trailing
// slash. dir reports whether the original text requires a directory. resolve returns nil if p is
// not in the tree. ".." is resolved only inside the tree, which has no symbolic links; elsewhere
// its meaning depends on links of the host, and a path that leaves the tree by ".." is not in the
// tree.
func (r *resolver) resolve(dst, p []byte) (clean []byte, dir bool) {
	if len(p) == 0 || p[0] != '/' {
		return nil, false
	}
	for i := 0; i < len(p); {
		for i < len(p) && p[i] == '/' {
			i++
		}
		start := i
		for i < len(p) && p[i] != '/' {
			i++
		}
		switch name := p[start:i]; string(name) {
		case "", ".":
			dir = true
		case "..":
			if !r.owned(dst) {
				return nil, false
			}
			dst = parent(dst)
			if !r.owned(dst) {
				return nil, false
			}
			dir = true
		default:
			dst = append(append(dst, '/'), name...)
			dir = false
		}
	}
	if !r.owned(dst) {
		return nil, false
	}
	return dst, dir
}

// parent returns the directory of the clean path p.
func parent(p []byte) []byte {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i] == '/' {
			return p[:i]
		}
	}
	return p[:0]
}
