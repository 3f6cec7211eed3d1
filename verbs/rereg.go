package verbs

import (
	"errors"

	"github.com/gorxe/gorxe/mr"
)

// A ReregOption names one thing that [MR.Rereg] changes.
type ReregOption func(*rereg)

type rereg struct {
	mr.Rereg
	ctx  *Context // of the new domain
	iova uint64   // of the new memory, where not zero-based
}

// ReregAccess gives the region other rights (IBV_REREG_MR_CHANGE_ACCESS).
func ReregAccess(access Access) ReregOption {
	return func(r *rereg) { r.Change, r.Access = r.Change|mr.ChangeAccess, access }
}

// ReregPD moves the region to another protection domain (IBV_REREG_MR_CHANGE_PD).
func ReregPD(p *PD) ReregOption {
	return func(r *rereg) { r.Change, r.PD, r.ctx = r.Change|mr.ChangePD, p.pd, p.ctx }
}

// ReregBuf gives the region another buffer, with the buffer's addresses unless the region is
// zero-based (IBV_REREG_MR_CHANGE_TRANSLATION).
func ReregBuf(buf []byte) ReregOption {
	return func(r *rereg) {
		r.Change, r.Memory, r.Length = r.Change|mr.ChangeTranslation, mr.Bytes(buf), uint64(len(buf))
		r.iova = addressOf(buf)
	}
}

// Rereg changes the region as ibv_rereg_mr does, all at once or, with an error, not at all.
// With [ReregBuf] the region gets another key; otherwise it keeps its key. When it returns
// nothing reads or writes as the region was before: work under way through it ends in an
// error. A region that memory windows are bound to is refused.
func (m *MR) Rereg(opts ...ReregOption) error {
	var r rereg
	for _, opt := range opts {
		opt(&r)
	}
	if r.Change&mr.ChangePD != 0 && r.ctx != m.ctx {
		return errors.New("reregister: the protection domain is on another device or in another context")
	}
	old := m.region.Load()
	access := old.Access()
	if r.Change&mr.ChangeAccess != 0 {
		access = r.Access
	}
	if access&ZeroBased == 0 {
		r.IOVA = r.iova
	}
	n, err := m.ctx.dev.engine.Reregister(old, &r.Rereg)
	if err != nil {
		return err
	}
	m.region.Store(n)
	return nil
}
