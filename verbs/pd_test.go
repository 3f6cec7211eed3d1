package verbs_test

import (
	"strings"
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

func TestADomainIsDeallocatedWhenNothingIsInIt(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	dev := verbstest.Open(t, cfg[0], 8).Device
	cq, err := dev.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]func(pd *verbs.PD) (end func() error, err error){
		"a region": func(pd *verbs.PD) (func() error, error) {
			m, err := pd.RegMR(make([]byte, 64), verbs.LocalWrite)
			return func() error { return m.Dereg() }, err
		},
		"a fast-registration memory region": func(pd *verbs.PD) (func() error, error) {
			m, err := pd.AllocFastMR(64)
			return func() error { return m.Dereg() }, err
		},
		"a memory window": func(pd *verbs.PD) (func() error, error) {
			w, err := pd.AllocMW(verbs.MWType2)
			return func() error { return w.Dealloc() }, err
		},
		"a queue pair": func(pd *verbs.PD) (func() error, error) {
			q, err := pd.CreateQP(verbs.QPInitAttr{SendCQ: cq})
			return func() error { return q.Close() }, err
		},
		"a shared receive queue": func(pd *verbs.PD) (func() error, error) {
			s, err := pd.CreateSRQ(verbs.SRQInitAttr{MaxWR: 4, MaxSGE: 1})
			return func() error { return s.Close() }, err
		},
		"a region that came from another domain": func(pd *verbs.PD) (func() error, error) {
			m, err := dev.AllocPD().RegMR(make([]byte, 64), verbs.LocalWrite)
			if err == nil {
				err = m.Rereg(verbs.ReregPD(pd))
			}
			return func() error { return m.Dereg() }, err
		},
	}
	for name, create := range objects {
		pd := dev.AllocPD()
		end, err := create(pd)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := pd.Dealloc(); err == nil || !strings.Contains(err.Error(), "in use by 1 ") {
			t.Errorf("with %s in it Dealloc = %v", name, err)
		}
		// Deallocating an object twice has no further effect.
		for range 2 {
			_ = end()
		}
		for range 2 {
			if err := pd.Dealloc(); err != nil {
				t.Errorf("without %s: %v", name, err)
			}
		}
		if _, err := create(pd); err == nil || !strings.Contains(err.Error(), "was deallocated") {
			t.Errorf("%s is made in a domain that was deallocated: %v", name, err)
		}
	}
}

func TestARegionThatLeftADomainDoesNotKeepIt(t *testing.T) {
	cfg := verbstest.PipeLinks(t)
	dev := verbstest.Open(t, cfg[0], 8).Device
	pd := dev.AllocPD()
	m, err := pd.RegMR(make([]byte, 64), verbs.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Rereg(verbs.ReregPD(dev.AllocPD())); err != nil {
		t.Fatal(err)
	}
	if err := pd.Dealloc(); err != nil {
		t.Error(err)
	}
}
