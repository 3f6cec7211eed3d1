package verbs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/gorxe/gorxe/mr"
)

// Memory is what a region can be registered on besides a slice; see package mr.
type Memory = mr.Memory

// MR is a registered memory region.
type MR struct {
	owned
	region atomic.Pointer[mr.Region]
}

// An MROption changes how [PD.RegMR] registers.
type MROption func(*mrOptions)

type mrOptions struct {
	iova       uint64
	hasIOVA    bool
	randomIOVA bool
}

// WithIOVA makes the region begin at addr instead of the address of its buffer.
func WithIOVA(addr uint64) MROption {
	return func(o *mrOptions) { o.iova, o.hasIOVA, o.randomIOVA = addr, true, false }
}

// WithRandomIOVA makes the region begin at an address that nobody can guess, below 2^63 and at
// the same place in its page of 4096 bytes as the memory. A peer has to be told the address;
// a stranger that forges the peer's packets would have to guess it beside the key. It does not go
// with [ZeroBased].
func WithRandomIOVA() MROption {
	return func(o *mrOptions) { o.hasIOVA, o.randomIOVA = false, true }
}

// RegMR registers buf in place: work requests and, as far as access allows, peers reach
// its bytes under the region's keys, at addresses that begin with the buffer's own. The
// region keeps buf alive until [MR.Dereg].
//
// If buf is a mapping, as of syscall.Mmap, it must stay mapped until Dereg returns, and its file must
// not become shorter. Otherwise an access by a peer or a work request ends the process with SIGSEGV or
// SIGBUS: the device accesses the memory in goroutines of its own, where the program cannot recover. For
// memory that can go away use [PD.RegMemory] with a [Memory] whose methods return an error then, as
// internal/host/hostmem does for the regions of gorxe daemon: the error becomes the NAK remote
// operational error for a peer, and LOC_PROT_ERR for a work request of this device.
func (p *PD) RegMR(buf []byte, access Access, opts ...MROption) (*MR, error) {
	iova := addressOf(buf)
	if access&ZeroBased != 0 {
		iova = 0
	}
	return p.register(mr.Bytes(buf), iova, uint64(len(buf)), access, opts)
}

func addressOf(buf []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) }

// RegMemory registers memory that is not a slice of this process, or that can go away. Its addresses begin at 0
// without [WithIOVA] or [WithRandomIOVA]; where peers are not trusted, take the latter.
func (p *PD) RegMemory(mem Memory, access Access, opts ...MROption) (*MR, error) {
	if mem == nil {
		return nil, errors.New("register: the memory is nil: give one, or use RegMR for a slice")
	}
	return p.register(mem, 0, mem.Size(), access, opts)
}

func (p *PD) register(mem Memory, iova, length uint64, access Access, opts []MROption) (*MR, error) {
	var o mrOptions
	if err := apply(&o, opts); err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	switch {
	case o.hasIOVA:
		iova = o.iova
	case o.randomIOVA && access&ZeroBased != 0:
		return nil, fmt.Errorf("register: a zero-based region begins at address 0: clear ZeroBased or leave WithRandomIOVA out")
	case o.randomIOVA:
		iova = randomIOVA(iova)
	}
	m := &MR{}
	err := p.ctx.add(objectMR, &m.owned, m.Dereg, func() error {
		r, err := p.ctx.dev.nic.Register(p.pd, mem, iova, length, access)
		if err != nil {
			return err
		}
		m.region.Store(r)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// pageMask has the bits of an address that tell a byte of its page.
const pageMask = 1<<12 - 1

// randomIOVA returns an address in the lower half of the address space, whose page is random:
// 51 bits. Of a region of n bytes a peer that does not know the address hits some byte with a
// chance of n in 2^63. Up to 2^63 bytes fit behind it.
func randomIOVA(inPage uint64) uint64 { return random64()>>1&^pageMask | inPage&pageMask }

// Addr returns the address of the region's first byte, as peers and work requests name it.
func (m *MR) Addr() uint64 { return m.region.Load().IOVA() }

// Len returns the region's length in bytes.
func (m *MR) Len() int { return int(m.region.Load().Length()) }

// LKey returns the key for this device's own work requests.
func (m *MR) LKey() uint32 { return m.region.Load().LKey() }

// RKey returns the key for a peer.
func (m *MR) RKey() uint32 { return m.region.Load().RKey() }

// SGE returns the piece of n bytes at offset off. A piece that is not inside the region
// makes the work request that names it fail with LOC_PROT_ERR.
func (m *MR) SGE(off, n int) SGE {
	return SGE{Addr: m.Addr() + uint64(off), Length: uint32(n), LKey: m.LKey()}
}

// LoadByte reads the byte at offset off, in a way that may run while a peer writes it: the
// last bytes of an RDMA WRITE become visible last, so a program that waits for one in its
// buffer polls it with this. Outside the region it gives 0.
func (m *MR) LoadByte(off int) byte {
	if off < 0 || off >= m.Len() {
		return 0
	}
	return m.region.Load().LoadByte(m.Addr() + uint64(off))
}

// LoadUint64 reads 8 bytes at offset off, a multiple of 8, in this host's byte order and
// like [MR.LoadByte].
func (m *MR) LoadUint64(off int) uint64 {
	if off < 0 || off > m.Len()-8 {
		return 0
	}
	return m.region.Load().LoadUint64(m.Addr() + uint64(off))
}

// Dereg ends the region. When it returns nothing reads or writes its memory any more; work
// that still names it ends in an error. A region that memory windows are bound to is refused.
func (m *MR) Dereg() error {
	return m.ended(m.ctx.dev.nic.Deregister(m.region.Load()))
}

// A ReregOption names one thing that [MR.Rereg] changes.
type ReregOption func(*rereg)

type rereg struct {
	mr.Rereg
	ctx  *Context // of the new domain
	iova uint64   // of the new memory, where not zero-based
	err  error    // why an option cannot be followed
}

// ReregAccess gives the region other rights (IBV_REREG_MR_CHANGE_ACCESS).
func ReregAccess(access Access) ReregOption {
	return func(r *rereg) { r.Change, r.Access = r.Change|mr.ChangeAccess, access }
}

// ReregPD moves the region to another protection domain (IBV_REREG_MR_CHANGE_PD).
func ReregPD(p *PD) ReregOption {
	return func(r *rereg) {
		if p == nil {
			r.err = errors.New("the protection domain of ReregPD is nil: make one with Context.AllocPD")
			return
		}
		r.Change, r.PD, r.ctx = r.Change|mr.ChangePD, p.pd, p.ctx
	}
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
	err := apply(&r, opts)
	if err == nil {
		err = r.err
	}
	if err != nil {
		return fmt.Errorf("reregister: %w", err)
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
	n, err := m.ctx.dev.nic.Reregister(old, &r.Rereg)
	if err != nil {
		return err
	}
	m.region.Store(n)
	return nil
}
