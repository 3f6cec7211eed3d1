package hostile

import (
	"cmp"
	"net/netip"
	"sync"
	"time"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/verbs"
)

// Victim is the device under attack with its program, which serves a good peer and lets the
// flooder connect.
type Victim struct {
	dev *verbs.Device
	pd  *verbs.PD // for the good peer
	mr  *verbs.MR // memory for the good peer
	bad *verbs.PD // for the flooder
	big *verbs.MR // zeros, for the flooder
	own []*owned

	memory []byte

	stop    chan struct{}
	working sync.WaitGroup
}

// owned is a queue pair that is connected to one of the flooder's.
type owned struct {
	cq            *verbs.CQ
	qp            *verbs.QP
	mr            *verbs.MR
	local, remote verbs.ConnInfo
	needs         Needs
	out           int // number of outstanding requests
	revived       time.Time
}

// zeros is memory that takes no space: it reads as zeros, and writes have no effect.
type zeros uint64

func (z zeros) Size() uint64                    { return uint64(z) }
func (z zeros) ReadAt(p []byte, _ uint64) error { clear(p); return nil }
func (z zeros) WriteAt([]byte, uint64) error    { return nil }

// everything holds all access rights of a peer.
const everything = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic | verbs.FlushGlobal

// NewVictim returns the Victim of a device. The caller closes the device.
func NewVictim(dev *verbs.Device) (*Victim, error) {
	v := &Victim{dev: dev, pd: dev.AllocPD(), bad: dev.AllocPD(), memory: goodBytes()}
	var err error
	if v.mr, err = v.pd.RegMR(v.memory, everything); err != nil {
		return nil, err
	}
	v.big, err = v.bad.RegMemory(zeros(bigLen), verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead)
	return v, err
}

// Place is the location of memory for a peer.
type Place struct {
	Info verbs.ConnInfo
	VA   uint64
	RKey uint32
}

// Befriend connects a queue pair to that of the good peer.
func (v *Victim) Befriend(peer verbs.ConnInfo) (Place, error) {
	cq, err := v.dev.CreateCQ(16)
	if err != nil {
		return Place{}, err
	}
	q, err := v.pd.CreateQP(verbs.QPInitAttr{SendCQ: cq})
	if err != nil {
		return Place{}, err
	}
	info, err := connect(q, peer, verbs.DefaultConnAttr())
	return Place{info, v.mr.Addr(), v.mr.RKey()}, err
}

func connect(q *verbs.QP, peer verbs.ConnInfo, attr verbs.ConnAttr) (verbs.ConnInfo, error) {
	info, err := q.Local(0, verbs.RandomPSN())
	if err != nil {
		return info, err
	}
	info.MTU = min(info.MTU, MTU)
	return info, q.Connect(info, peer, attr)
}

// The flooder's queue pairs do not exist. Their numbers start with floodQPN, and the PSNs of
// their packets with floodPSN.
const (
	floodQPN = 0x100
	floodPSN = 0x1000
)

// Own makes queue pairs for a flooder at an address. It replaces the previous ones.
func (v *Victim) Own(flooder netip.Addr, needs Needs) (out []Owned, err error) {
	v.disown()
	for i := range max(needs.QPs, 1) {
		o := &owned{needs: needs, remote: verbs.ConnInfo{
			QPN: floodQPN + verbs.QPN(i), PSN: floodPSN, GID: qp.GIDFromAddr(flooder), MTU: MTU,
		}}
		v.own = append(v.own, o)
		if o.mr, err = v.bad.RegMR(make([]byte, regionLen), everything); err != nil {
			return nil, err
		}
		if o.cq, err = v.dev.CreateCQ(64); err != nil {
			return nil, err
		}
		if o.qp, err = v.bad.CreateQP(verbs.QPInitAttr{SendCQ: o.cq}); err != nil {
			return nil, err
		}
		if o.local, err = connect(o.qp, o.remote, floodAttr(needs)); err != nil {
			return nil, err
		}
		out = append(out, Owned{
			QPN: o.local.QPN, PeerQPN: bth.QPN(o.remote.QPN), PSN: floodPSN,
			Sends: o.local.PSN, VA: o.mr.Addr(), RKey: o.mr.RKey(),
			BigVA: v.big.Addr(), BigRKey: v.big.RKey(),
		})
	}
	v.stop = make(chan struct{})
	v.working.Go(func() { v.work(v.own, v.stop) })
	return out, nil
}

func floodAttr(needs Needs) verbs.ConnAttr {
	a := verbs.DefaultConnAttr()
	a.Access |= verbs.RemoteAtomic | verbs.FlushGlobal
	a.PathMTU, a.MaxDestRdAtomic, a.MinRNRTimer = verbs.MTU(cmp.Or(needs.MTU, MTU)), 128, 1
	return a
}

// disown removes the flooder's queue pairs.
func (v *Victim) disown() {
	if v.stop != nil {
		close(v.stop)
		v.working.Wait()
		v.stop = nil
	}
	for _, o := range v.own {
		// Objects that were not made are nil. Errors are ignored: the device is closed soon.
		if o.qp != nil {
			_ = o.qp.Close()
		}
		if o.cq != nil {
			_ = o.cq.Close()
		}
		if o.mr != nil {
			_ = o.mr.Dereg()
		}
	}
	v.own = nil
}

// reviveAfter is the minimum time between reconnections of a queue pair in ERR.
const reviveAfter = 100 * time.Millisecond

// work is the program behind the flooder's queue pairs. It polls them every millisecond.
func (v *Victim) work(own []*owned, stop <-chan struct{}) {
	every := time.NewTicker(time.Millisecond)
	defer every.Stop()
	for {
		for _, o := range own {
			o.turn()
		}
		select {
		case <-stop:
			return
		case <-every.C:
		}
	}
}

const depth = 16 // requests outstanding to a flooder's queue pair

func (o *owned) turn() {
	if !o.needs.Writes && !o.needs.Reads && !o.needs.Revive {
		return
	}
	var wcs [depth]verbs.WC
	o.out -= o.cq.Poll(wcs[:])
	if o.qp.State() == verbs.ERR && o.needs.Revive && time.Since(o.revived) >= reviveAfter {
		o.revived = time.Now()
		// Modify fails if the device is closing.
		if o.revive() != nil {
			return
		}
	}
	if !o.needs.Writes && !o.needs.Reads {
		return
	}
	op := verbs.WRWrite
	if o.needs.Reads {
		op = verbs.WRRead
	}
	for o.out < depth && o.qp.State() == verbs.RTS {
		wr := verbs.SendWR{Opcode: op, Flags: verbs.Signaled, SGList: []verbs.SGE{o.mr.SGE(0, 64<<10)},
			RemoteAddr: 0x1000, RKey: 1}
		if o.qp.PostSend(&wr) != nil {
			return
		}
		o.out++
	}
}

// revive reconnects the queue pair with the same attributes.
func (o *owned) revive() error {
	if err := o.qp.Modify(&verbs.QPAttr{State: verbs.RESET}, verbs.AttrState); err != nil {
		return err
	}
	var wcs [depth]verbs.WC
	for o.cq.Poll(wcs[:]) > 0 {
	}
	o.out = 0
	return o.qp.Connect(o.local, o.remote, floodAttr(o.needs))
}

// Close stops the victim's program and closes the flooder's queue pairs.
func (v *Victim) Close() { v.disown() }

// bytes returns the good pair's memory at the victim.
func (v *Victim) bytes() []byte { return v.memory }
