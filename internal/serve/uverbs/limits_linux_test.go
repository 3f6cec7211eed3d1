package uverbs

import (
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
)

// open opens a context of a program, without descriptors of the program.
func open(s *Server, program, user any) (*Context, error) {
	return s.Open(&space{bytes: make([]byte, 1<<16), next: base, program: program, user: user})
}

// counted returns the resources of the programs of a user.
func (s *Server) counted(user any) amounts {
	s.accounts.mu.Lock()
	defer s.accounts.mu.Unlock()
	if u := s.accounts.users[user]; u != nil {
		return u.used
	}
	return amounts{}
}

func TestAProgramHasALimitOfContexts(t *testing.T) {
	s := serverOn(t, devices(t)[0])
	var first *Context
	for i := range programContexts {
		c, err := open(s, 1, nil)
		if err != nil {
			t.Fatalf("context %d: %v", i, err)
		}
		first = c
	}
	if _, err := open(s, 1, nil); uapi.ErrnoOf(err) != uapi.EMFILE {
		t.Errorf("one more context: %v", err)
	}
	if _, err := open(s, 2, nil); err != nil {
		t.Errorf("a context of another program: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(s, 1, nil); err != nil {
		t.Errorf("a context in the place of one that was closed: %v", err)
	}
}

func TestTheProgramsOfAUserHaveALimitOfContexts(t *testing.T) {
	s := serverOn(t, devices(t)[0])
	c, err := open(s, 1, "a")
	if err != nil {
		t.Fatal(err)
	}
	s.accounts.mu.Lock()
	c.account.user.limits[contexts] = 2
	s.accounts.mu.Unlock()
	if _, err := open(s, 2, "a"); err != nil {
		t.Error(err)
	}
	if _, err := open(s, 3, "a"); uapi.ErrnoOf(err) != uapi.ENFILE {
		t.Errorf("one more context: %v", err)
	}
	if _, err := open(s, 4, "b"); err != nil {
		t.Errorf("a context of another user: %v", err)
	}
}

// limit sets a limit of the program.
func (e *end) limit(r resource, n int64) {
	a := &e.ctx.server.accounts
	a.mu.Lock()
	defer a.mu.Unlock()
	e.ctx.account.limits[r] = n
}

func TestAProgramHasALimitOfEventFiles(t *testing.T) {
	a, _ := newPair(t) // has two
	a.limit(eventFiles, 3)
	create := func() error {
		r, _, err := a.tryCommand(uapi.CmdCreateCompChannel, uapi.CreateCompChannel{}, 4)
		if err == nil {
			a.channel = int(u32(r))
		}
		return err
	}
	if err := create(); err != nil {
		t.Fatal(err)
	}
	if err := create(); uapi.ErrnoOf(err) != uapi.EMFILE {
		t.Errorf("one more event file: %v", err)
	}
	for range 1000 {
		a.closeFD(a.channel)
		if err := create(); err != nil {
			t.Fatalf("an event file in the place of one that was closed: %v", err)
		}
	}
}

func TestAProgramHasALimitOfRingMemory(t *testing.T) {
	a, _ := newPair(t)
	a.limit(ringBytes, a.ctx.server.counted(nil)[ringBytes]+1<<20)
	create := func(cqe uint32) error {
		_, err := a.try(uapi.MethodCQCreate, fresh(uapi.AttrCreateCQHandle), attr{id: uapi.AttrCreateCQCQE, in: cqe},
			attr{id: uapi.AttrCreateCQUserHandle, in: uint64(0)}, attr{id: uapi.AttrCreateCQCompVector, in: uint32(0)},
			out(uapi.AttrCreateCQRespCQE, 4), out(uapi.MethodCQCreate.UHWOut(), 16))
		return err
	}
	if err := create(1 << 14); uapi.ErrnoOf(err) != uapi.ENOMEM {
		t.Errorf("a ring of more memory: %v", err)
	}
	if err := create(1 << 12); err != nil {
		t.Errorf("a ring within the limit: %v", err)
	}
}

func TestWhatAProgramHasIsCountedUntilItEnds(t *testing.T) {
	a, b := newPair(t)
	s := a.ctx.server
	begin := s.counted(nil)
	for _, r := range []resource{contexts, eventFiles, ringBytes, numPDs, numCQs, numQPs, numMRs} {
		if begin[r] == 0 {
			t.Errorf("no %s are counted", resourceInfo[r].name)
		}
	}
	pd := run[uapi.AllocPDResp](a.program, uapi.CmdAllocPD, uapi.AllocPD{}).PDHandle
	if n := s.counted(nil)[numPDs]; n != begin[numPDs]+1 {
		t.Errorf("%d protection domains are counted after one more than %d", n, begin[numPDs])
	}
	a.limit(numPDs, begin[numPDs]+1)
	if _, _, err := a.tryCommand(uapi.CmdAllocPD, uapi.AllocPD{}, 4); uapi.ErrnoOf(err) != uapi.ENOMEM {
		t.Errorf("one more protection domain: %v", err)
	}
	if _, _, err := a.tryCommand(uapi.CmdDeallocPD, uapi.DeallocPD{PDHandle: pd}, 0); err != nil {
		t.Error(err)
	}
	// A call that fails leaves nothing counted.
	if _, _, err := a.tryCommand(uapi.CmdDeallocPD, uapi.DeallocPD{PDHandle: pd}, 0); err == nil {
		t.Error("a protection domain is destroyed twice")
	}
	if err := a.modify(uapi.ModifyQP{QPState: 77}, uapi.QPMaskState); err == nil {
		t.Error("no state 77")
	}
	if now := s.counted(nil); now != begin {
		t.Errorf("%v are counted, before %v", now, begin)
	}
	a.exit()
	b.exit()
	b.until("nothing is counted", func() bool { return s.counted(nil) == amounts{} })
}
