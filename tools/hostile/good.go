package hostile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gorxe/gorxe/verbs"
)

// GoodEnd is the well-behaved peer: it writes and reads the victim's memory.
type GoodEnd struct {
	cq   *verbs.CQ
	qp   *verbs.QP
	mr   *verbs.MR
	info verbs.ConnInfo
	at   Place
	done atomic.Uint64
}

const (
	goodLen   = 1 << 20 // bytes of memory at each end of the good pair
	goodDepth = 16
)

// goodByte fills the good pair's memory at both ends. No flooder has a key to it.
const goodByte = 0x47

func goodBytes() []byte { return bytes.Repeat([]byte{goodByte}, goodLen) }

// Traffic is the traffic of the good pair.
type Traffic string

const (
	Mixed   Traffic = "mixed"   // alternating WRITEs and READs of 64 KiB, 16 outstanding
	Writes  Traffic = "write"   // WRITEs of 64 KiB
	Reads   Traffic = "read"    // READs of 64 KiB
	Latency Traffic = "latency" // READs of 8 bytes, one at a time
)

// NewGoodEnd returns the GoodEnd of a device. The caller closes the device.
func NewGoodEnd(dev *verbs.Device) (*GoodEnd, error) {
	g := &GoodEnd{}
	pd := dev.AllocPD()
	var err error
	if g.mr, err = pd.RegMR(goodBytes(), verbs.LocalWrite); err != nil {
		return nil, err
	}
	if g.cq, err = dev.CreateCQ(64); err != nil {
		return nil, err
	}
	if g.qp, err = pd.CreateQP(verbs.QPInitAttr{SendCQ: g.cq}); err != nil {
		return nil, err
	}
	if g.info, err = g.qp.Local(0, verbs.RandomPSN()); err != nil {
		return nil, err
	}
	g.info.MTU = min(g.info.MTU, MTU)
	return g, nil
}

// Info returns the connection information for the victim.
func (g *GoodEnd) Info() verbs.ConnInfo { return g.info }

// Meet connects to the victim's queue pair.
func (g *GoodEnd) Meet(at Place) error {
	g.at = at
	return g.qp.Connect(g.info, at.Info, verbs.DefaultConnAttr())
}

// Done returns the number of completed requests.
func (g *GoodEnd) Done() uint64 { return g.done.Load() }

var errBroken = errors.New("the good pair's connection is broken")

// Run keeps requests outstanding until ctx is done or, if n is not 0, n requests have completed.
func (g *GoodEnd) Run(ctx context.Context, t Traffic, n uint64) error {
	size, most := 64<<10, uint64(goodDepth)
	if t == Latency {
		size, most = 8, 1
	}
	var posted, done uint64
	var wcs [goodDepth]verbs.WC
	for n == 0 || done < n {
		for ; posted-done < most && (n == 0 || posted < n); posted++ {
			op := verbs.WRRead
			if t == Writes || t == Mixed && posted%2 == 0 {
				op = verbs.WRWrite
			}
			at := int(posted%goodDepth) * size
			wr := verbs.SendWR{
				ID: posted, Opcode: op, Flags: verbs.Signaled, SGList: []verbs.SGE{g.mr.SGE(at, size)},
				RemoteAddr: g.at.VA + uint64(at), RKey: g.at.RKey,
			}
			if err := g.qp.PostSend(&wr); err != nil {
				return err
			}
		}
		k, err := g.cq.Wait(ctx, wcs[:])
		if err != nil {
			return err
		}
		for i := range wcs[:k] {
			if wcs[i].Status != verbs.WCSuccess {
				return fmt.Errorf("%w: %v completed with %v", errBroken, wcs[i].Opcode, wcs[i].Status)
			}
		}
		done += uint64(k)
		g.done.Add(uint64(k))
	}
	return nil
}
