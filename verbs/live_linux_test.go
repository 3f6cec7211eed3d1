package verbs_test

import (
	"encoding/binary"
	"flag"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/race"
	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

var liveFor = flag.Duration("live", 0,
	"for how long TestPeersMayPollMemoryThatChanges reads in each case; 0 is for 16 MiB")

// One end polls memory of the other with READs, while its owner increments it and another
// connection writes to it, without pauses. No response may have a wrong ICRC.
func TestPeersMayPollMemoryThatChanges(t *testing.T) {
	if race.Enabled {
		t.Skip("memory that changes while it is read is a data race by definition: run without -race")
	}
	for _, shards := range []int{1, 2, 4} {
		for _, size := range []int{4096, 64 << 10} {
			t.Run(fmt.Sprintf("%d shards, %d bytes", shards, size), func(t *testing.T) { pollLive(t, shards, size) })
		}
	}
}

func pollLive(t *testing.T, shards, size int) {
	cfg := verbstest.UDPDevices(t)
	for i := range cfg {
		cfg[i].Shards = shards
	}
	nodes := [2]*verbstest.Node{verbstest.Open(t, cfg[0], 3*size), verbstest.Open(t, cfg[1], size)}
	owner := nodes[1]
	reader, writer := newStrand(t, nodes, 0), newStrand(t, nodes, 0)
	request := func(op verbs.WROpcode, from int) *verbs.SendWR {
		return &verbs.SendWR{
			Opcode: op, SGList: []verbs.SGE{nodes[0].MR.SGE(from, size)},
			RemoteAddr: owner.MR.Addr(), RKey: owner.MR.RKey(),
		}
	}
	for i := range size {
		nodes[0].Buf[2*size+i] = 0xff
	}

	var over atomic.Bool
	var beside sync.WaitGroup
	var written atomic.Int64
	var failed error
	beside.Go(func() {
		for at := 0; !over.Load(); at = (at + 64) % size {
			binary.NativeEndian.PutUint64(owner.Buf[at:], binary.NativeEndian.Uint64(owner.Buf[at:])+1)
		}
	})
	beside.Go(func() {
		for i := 0; !over.Load() && failed == nil; i++ {
			failed = writer.does(0, request(verbs.WRWrite, size*(1+i%2)))
			written.Add(1)
		}
	})
	reads, end := 0, time.Now().Add(*liveFor)
	for ; reads*size < 16<<20 || time.Now().Before(end); reads++ {
		if err := reader.does(0, request(verbs.WRRead, 0)); err != nil {
			t.Errorf("after %d READs: %v", reads, err)
			break
		}
	}
	over.Store(true)
	beside.Wait()
	if failed != nil {
		t.Errorf("after %d WRITEs: %v", written.Load(), failed)
	}
	for i, n := range nodes {
		if wrong := n.Device.Counters()["drop_bad_icrc"]; wrong > 0 {
			t.Errorf("end %d got %d packets with a wrong ICRC in %d READs and %d WRITEs", i, wrong, reads,
				written.Load())
		}
	}
}
