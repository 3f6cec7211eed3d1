package nic

import (
	"sync"
	"testing"

	"github.com/gorxe/gorxe/mr"
)

// The test holds the locks of all shards: a call that needed one would wait forever.
func TestANewKeyWaitsForNoShard(t *testing.T) {
	a, b := newPair(t, 1<<12, usualRetry, nil)
	defer closeAll(t, a, b)
	d := a.dev
	d.lockAll()
	defer d.unlockAll()
	for _, s := range d.shards {
		s.keying.Lock()
		defer s.keying.Unlock()
	}
	r, err := d.Register(a.pd, mr.Bytes(make([]byte, 64)), 0, 64, mr.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if d.keys.Lookup(r.LKey()) != r {
		t.Error("its key does not lead to the region")
	}
	w, err := d.AllocWindow(a.pd, mr.WindowType2)
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.AllocFast(a.pd, 64)
	if err != nil {
		t.Fatal(err)
	}
	if _, bound := d.WindowKey(w); bound {
		t.Error("a new window is bound")
	}
	if _, registered := d.FastKey(f); registered {
		t.Error("a new fast-registration memory region is registered")
	}
	var keys [8]mr.KeyInfo
	if n := d.ListKeys(0, keys[:]); n != 4 {
		t.Errorf("%d keys, want 4", n)
	}
}

// Regions are created and removed while packets look others up.
func TestMemoryIsRegisteredBesideTraffic(t *testing.T) {
	a, b := newPair(t, 1<<16, usualRetry, nil)
	defer closeAll(t, a, b)
	stop := make(chan struct{})
	var registrars sync.WaitGroup
	for _, e := range []*end{a, b} {
		registrars.Go(func() {
			buf := make([]byte, 64)
			var last []*mr.Region
			for {
				select {
				case <-stop:
					return
				default:
				}
				r, err := e.dev.Register(e.pd, mr.Bytes(buf), 0, 64, mr.LocalWrite)
				if err != nil {
					t.Error(err)
					return
				}
				if last = append(last, r); len(last) > 1000 {
					if err := e.dev.Deregister(last[0]); err != nil {
						t.Error(err)
						return
					}
					last = last[1:]
				}
			}
		})
	}
	for i := range uint64(40) {
		a.post(a.write(b, i, 0, 1<<16), a.read(b, i, 0, 100))
		a.succeed(2)
	}
	close(stop)
	registrars.Wait()
}
