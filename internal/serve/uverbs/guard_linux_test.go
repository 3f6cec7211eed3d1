package uverbs

import (
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

func TestAContextEndsWhoseProgramPunchesHolesIntoItsRings(t *testing.T) {
	s := serverOn(t, devices(t)[0])
	var all [2]*end
	for i := range all {
		all[i] = &end{program: startFor(t, s, "a user"), channel: -1}
		m := uapi.MethodCQCreate
		r := all[i].call(m, fresh(uapi.AttrCreateCQHandle), attr{id: uapi.AttrCreateCQCQE, in: uint32(1000)},
			attr{id: uapi.AttrCreateCQUserHandle, in: uint64(0)}, attr{id: uapi.AttrCreateCQCompVector, in: uint32(0)},
			out(uapi.AttrCreateCQRespCQE, 4), out(m.UHWOut(), 16))
		all[i].comp = all[i].mapQueue(decode[uapi.RXECreateCQResp](all[i].program, r[m.UHWOut()]).MI)
	}
	if err := unix.Fallocate(all[0].cmd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, 0, 1<<16); err != nil {
		t.Fatal(err)
	}
	<-all[0].ctx.done
	if !s.guardOnce() {
		t.Error("the other context is not looked at")
	}
	select {
	case <-all[1].ctx.done:
		t.Error("the other context ended")
	default:
	}
}
