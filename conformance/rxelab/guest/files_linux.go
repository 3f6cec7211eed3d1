package guest

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/gorxe/gorxe/conformance/rxelab/vm/wire"
)

// create, append and finish write a file that the host sends. They run on the goroutine that
// reads the port: the guest's files are in memory, so they do not block it.
func (a *agent) create(f wire.Frame) {
	var head wire.File
	if !a.decode(f, &head) {
		return
	}
	err := os.MkdirAll(filepath.Dir(head.Path), 0o755)
	var file *os.File
	if err == nil {
		file, err = os.OpenFile(head.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(head.Mode))
	}
	if err != nil {
		a.exit(f.Stream, wire.Result{Code: -1, Err: err.Error()})
		return
	}
	a.files[f.Stream] = file
}

func (a *agent) append(f wire.Frame) {
	file, ok := a.files[f.Stream]
	if !ok {
		return // create has reported the error to the host
	}
	if _, err := file.Write(f.Data); err != nil {
		a.finish(f.Stream, err)
	}
}

func (a *agent) finish(stream uint32, err error) {
	file, ok := a.files[stream]
	if !ok {
		return
	}
	delete(a.files, stream)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	r := wire.Result{}
	if err != nil {
		r = wire.Result{Code: -1, Err: err.Error()}
	}
	a.exit(stream, r)
}

// read returns the contents of every file that the patterns match, except files that cannot be
// read.
func (a *agent) read(stream uint32, patterns []string) {
	found := map[string]string{}
	for _, p := range patterns {
		names, err := filepath.Glob(p)
		if err != nil {
			a.exit(stream, wire.Result{Code: -1, Err: err.Error()})
			return
		}
		for _, n := range names {
			if b, err := os.ReadFile(n); err == nil {
				found[n] = string(b)
			}
		}
	}
	b, err := json.Marshal(found)
	if err == nil {
		_, err = output{a, stream, wire.Stdout}.Write(b)
	}
	if err != nil {
		a.exit(stream, wire.Result{Code: -1, Err: err.Error()})
		return
	}
	a.exit(stream, wire.Result{})
}
