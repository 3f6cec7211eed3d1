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

// Victim is the device under attack and what its program does: it serves a good peer, and lets the
// flooder connect.
type Victim struct {
	dev *verbs.Device
	pd  *verbs.PD // of the good peer's
	mr  *verbs.MR // memory, for the good peer
	bad *verbs.PD // of the flooder's
	big *verbs.MR // zeros, for the flooder
	own []*owned

	memory []byte

	stop    chan struct{}
	working sync.WaitGroup
}

// owned is a queue pair that the flooder's are connected to.
type owned struct {
	cq            *verbs.CQ
	qp            *verbs.QP
	mr            *verbs.MR
	local, remote verbs.ConnInfo
	needs         Needs
	out           int // requests posted and not completed
	revived       time.Time
}

// zeros is memory that takes none: it reads as zeros, and what is written to it is lost.
type zeros uint64

func (z zeros) Size() uint64                    { return uint64(z) }
func (z zeros) ReadAt(p []byte, _ uint64) error { clear(p); return nil }
func (z zeros) WriteAt([]byte, uint64) error    { return nil }

// Everything that a peer may do.
const everything = verbs.LocalWrite | verbs.RemoteWrite | verbs.RemoteRead | verbs.RemoteAtomic | verbs.FlushGlobal

// NewVictim makes one of a device, whose owner closes it.
func NewVictim(dev *verbs.Device) (*Victim, error) {
	v := &Victim{dev: dev, pd: dev.AllocPD(), bad: dev.AllocPD(), memory: goodBytes()}
	var err error
	if v.mr, err = v.pd.RegMR(v.memory, everything); err != nil {
		return nil, err
	}
	v.big, err = v.bad.RegMemory(zeros(bigLen), verbs.LocalWrite|verbs.RemoteWrite|verbs.RemoteRead)
	return v, err
}

// Place is where a peer finds memory.
type Place struct {
	Info verbs.ConnInfo
	VA   uint64
	RKey uint32
}

// Befriend connects a queue pair to the good peer's.
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

// The flooder's queue pairs, which do not exist, are numbered from floodQPN; their packets start
// with floodPSN.
const (
	floodQPN = 0x100
	floodPSN = 0x1000
)

// Own makes queue pairs for a flooder at an address, in place of those from before.
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
			QPN: o.local.QPN, PeerQPN: bth.QPN(o.remote.QPN), PSN: floodPSN, Sends: o.local.PSN, VA: o.mr.Addr(), RKey: o.mr.RKey(),
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

// disown takes the flooder's queue pairs away.
func (v *Victim) disown() {
	if v.stop != nil {
		close(v.stop)
		v.working.Wait()
		v.stop = nil
	}
	for _, o := range v.own {
		// What was not made is nil, what is left of errors is of no use here: the device is closed
		// soon.
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

// reviveAfter is how often a queue pair that has come to ERR is connected anew, at most.
const reviveAfter = 100 * time.Millisecond

// work is the program behind the flooder's queue pairs. It looks after them a thousand times a
// second.
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

const depth = 16 // requests that the victim has outstanding towards a flooder's queue pair

func (o *owned) turn() {
	if !o.needs.Writes && !o.needs.Reads && !o.needs.Revive {
		return
	}
	var wcs [depth]verbs.WC
	o.out -= o.cq.Poll(wcs[:])
	if o.qp.State() == verbs.ERR && o.needs.Revive && time.Since(o.revived) >= reviveAfter {
		o.revived = time.Now()
		// A device that is closing refuses.
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
		wr := verbs.SendWR{Opcode: op, Flags: verbs.Signaled, SGList: []verbs.SGE{o.mr.SGE(0, 64<<10)}, RemoteAddr: 0x1000, RKey: 1}
		if o.qp.PostSend(&wr) != nil {
			return
		}
		o.out++
	}
}

// revive connects the queue pair anew, as the same.
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

// Close ends the victim's work.
func (v *Victim) Close() { v.disown() }

// bytes is the memory of the good pair at the victim.
func (v *Victim) bytes() []byte { return v.memory }
