package mr

import "fmt"

// Change selects what [Table.Reregister] changes. The values are those of ibv_rereg_mr_flags.
type Change uint8

const (
	ChangeTranslation Change = 1 << 0 // memory, address and length
	ChangePD          Change = 1 << 1
	ChangeAccess      Change = 1 << 2
)

// Rereg holds the new properties of a region. Fields that Change does not select are ignored.
type Rereg struct {
	Change Change
	Memory Memory
	IOVA   uint64
	Length uint64
	PD     *PD
	Access Access
}

// Reregister changes a region as ibv_rereg_mr does and returns the changed region. r itself
// becomes invalid, so that outstanding work through r is rejected as after [Table.Deregister].
// With ChangeTranslation the region gets a new key, because a stale key must not reach other
// memory; otherwise it keeps its key. It fails if memory windows are bound to r. After an error
// nothing has changed.
func (t *Table) Reregister(r *Region, q *Rereg) (*Region, error) {
	const all = ChangeTranslation | ChangePD | ChangeAccess
	if err := t.checkOwned("reregister", r); err != nil {
		return nil, err
	}
	if q.Change == 0 || q.Change&^all != 0 {
		return nil, fmt.Errorf("mr: reregister: change %#x; name at least one of translation, PD and access",
			uint8(q.Change))
	}
	pd, mem, iova, length, access := r.pd, r.mem, r.iova, r.length, r.access
	if q.Change&ChangeTranslation != 0 {
		mem, iova, length = q.Memory, q.IOVA, q.Length
	}
	if q.Change&ChangePD != 0 {
		pd = q.PD
	}
	if q.Change&ChangeAccess != 0 {
		access = q.Access
	}
	n, err := t.newRegion("reregister", pd, mem, iova, length, access)
	if err != nil {
		return nil, err
	}
	if err := pd.Hold(); err != nil {
		return nil, err
	}
	if n.key = r.key; q.Change&ChangeTranslation != 0 {
		t.remove(r.key)
		n.key = t.newKey()
		t.insert(n.key, entry{region: n})
	} else {
		t.replace(n.key, entry{region: n})
	}
	r.invalidate()
	r.pd.Release()
	return n, nil
}
