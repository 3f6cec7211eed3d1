package verbs

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/gorxe/gorxe/mr"
)

// Memory is memory other than a slice that a region can be registered on; see [mr.Memory].
type Memory = mr.Memory

// MR is a registered memory region.
type MR struct {
	owned
	region atomic.Pointer[mr.Region]
}

// An MROption is an option of [PD.RegMR] and [PD.RegMemory].
type MROption func(*mrOptions)

type mrOptions struct {
	iova       uint64
	hasIOVA    bool
	randomIOVA bool
}

// WithIOVA makes the region start at addr instead of the address of its buffer.
func WithIOVA(addr uint64) MROption {
	return func(o *mrOptions) { o.iova, o.hasIOVA, o.randomIOVA = addr, true, false }
}

// WithRandomIOVA makes the region start at an unpredictable address, below 2^63 and at the same
// offset in its page of 4096 bytes as the memory. The program must tell the peer the address; an
// attacker that forges packets of the peer would have to guess it in addition to the key.
// WithRandomIOVA cannot be combined with [ZeroBased].
func WithRandomIOVA() MROption {
	return func(o *mrOptions) { o.hasIOVA, o.randomIOVA = false, true }
}

// RegMR registers buf in place: work requests and, as far as access permits, peers access its
// bytes by the region's keys, at addresses that start with that of the buffer. The region keeps
// buf alive until [MR.Dereg].
//
// If buf is a mapping, such as from syscall.Mmap, it must stay mapped until Dereg returns, and
// its file must not be truncated. Otherwise an access by a peer or a work request ends the
// process with SIGSEGV or SIGBUS: the device accesses the memory in its own goroutines, where the
// program cannot recover. For memory that can disappear, use [PD.RegMemory] with a [Memory] whose
// methods return an error in that case, as internal/host/hostmem does for the regions of gorxe
// daemon. The error becomes a NAK remote operational error for a peer, and LOC_PROT_ERR for a
// work request of this device.
func (p *PD) RegMR(buf []byte, access Access, opts ...MROption) (*MR, error) {
	iova := addressOf(buf)
	if access&ZeroBased != 0 {
		iova = 0
	}
	return p.register(mr.Bytes(buf), iova, uint64(len(buf)), access, opts)
}

func addressOf(buf []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) }

// RegMemory registers memory that is not a slice of this process, or that can disappear. Its
// addresses start at 0 without [WithIOVA] or [WithRandomIOVA]; use the latter if peers are not
// trusted.
func (p *PD) RegMemory(mem Memory, access Access, opts ...MROption) (*MR, error) {
	if mem == nil {
		return nil, errors.New("register: the memory is nil")
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
		return nil, fmt.Errorf(
			"register: a zero-based region begins at address 0: clear ZeroBased or leave WithRandomIOVA out")
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

// pageMask is the mask of the offset in a page.
const pageMask = 1<<12 - 1

// randomIOVA returns an address in the lower half of the address space with a random page number of
// 51 bits and the offset of inPage in its page. A peer that does not know the address hits a byte
// of a region of n bytes with probability n/2^63. Up to 2^63 bytes fit after the address.
func randomIOVA(inPage uint64) uint64 { return random64()>>1&^pageMask | inPage&pageMask }

// Addr returns the address of the region's first byte, as peers and work requests name it.
func (m *MR) Addr() uint64 { return m.region.Load().IOVA() }

// Len returns the region's length in bytes.
func (m *MR) Len() int { return int(m.region.Load().Length()) }

// LKey returns the key for this device's own work requests.
func (m *MR) LKey() uint32 { return m.region.Load().LKey() }

// RKey returns the key for a peer.
func (m *MR) RKey() uint32 { return m.region.Load().RKey() }

// SGE returns an element of n bytes at offset off. If it is not inside the region, the work
// request that uses it fails with LOC_PROT_ERR.
func (m *MR) SGE(off, n int) SGE {
	return SGE{Addr: m.Addr() + uint64(off), Length: uint32(n), LKey: m.LKey()}
}

// LoadByte reads the byte at offset off, safely while a peer writes it as one of the last 8 bytes
// of a message. The last bytes become visible last, so a program polls them with LoadByte: once it
// returns the new byte, the program may read the whole message. It returns 0 outside the region.
//
// LoadByte loads the aligned 8 bytes around the byte. If a message may arrive meanwhile whose
// earlier bytes are among these 8, LoadByte still returns the old or the new byte, but the race
// detector reports a race. A program avoids that with messages that begin at multiples of 8.
func (m *MR) LoadByte(off int) byte {
	if off < 0 || off >= m.Len() {
		return 0
	}
	return m.region.Load().LoadByte(m.Addr() + uint64(off))
}

// LoadUint64 reads 8 bytes at offset off, a multiple of 8, in this host's byte order.
// As with [MR.LoadByte], peers may write the last bytes of messages meanwhile, and the result is 0
// outside the region.
func (m *MR) LoadUint64(off int) uint64 {
	if off < 0 || off > m.Len()-8 {
		return 0
	}
	return m.region.Load().LoadUint64(m.Addr() + uint64(off))
}

// Dereg deregisters the region. When it returns, the device no longer accesses the memory; work
// that still uses the region completes with an error. Dereg fails if memory windows are bound to
// the region.
func (m *MR) Dereg() error {
	return m.deregisterUnless(m.ctx.dev.nic.Deregister(m.region.Load()))
}

// A ReregOption is a change that [MR.Rereg] makes.
type ReregOption func(*rereg)

type rereg struct {
	mr.Rereg
	ctx  *Context // context of the new domain
	iova uint64   // address of the new memory, unless zero-based
	err  error    // error of an invalid option
}

// ReregAccess changes the rights of the region (IBV_REREG_MR_CHANGE_ACCESS).
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

// ReregBuf replaces the region's buffer and uses the addresses of the new buffer, unless the region
// is zero-based (IBV_REREG_MR_CHANGE_TRANSLATION).
func ReregBuf(buf []byte) ReregOption {
	return func(r *rereg) {
		r.Change, r.Memory, r.Length = r.Change|mr.ChangeTranslation, mr.Bytes(buf), uint64(len(buf))
		r.iova = addressOf(buf)
	}
}

// Rereg changes the region, as ibv_rereg_mr: all options take effect at once, or none after an
// error. With [ReregBuf] the region gets a new key; otherwise it keeps its key. When Rereg
// returns, no access uses the old registration: work in progress on it completes with an error.
// Rereg fails if memory windows are bound to the region.
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
