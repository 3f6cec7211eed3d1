package qp_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/qp"
)

const (
	toInit = qp.AttrState | qp.AttrPKeyIndex | qp.AttrPort | qp.AttrAccess
	toRTR  = qp.AttrState | qp.AttrAV | qp.AttrPathMTU | qp.AttrDestQPN | qp.AttrRQPSN |
		qp.AttrMaxDestRdAtomic | qp.AttrMinRNRTimer
	toRTS = qp.AttrState | qp.AttrTimeout | qp.AttrRetryCnt | qp.AttrRNRRetry | qp.AttrSQPSN | qp.AttrMaxRdAtomic
)

// walk moves a new RC queue pair from RESET through further states.
func walk(t testing.TB, states ...qp.State) *qp.QP {
	t.Helper()
	q := &qp.QP{Num: 0x11, Type: qp.RC, SQ: qp.NewSendQueue(4, 1, false)}
	masks := map[qp.State]qp.AttrMask{qp.INIT: toInit, qp.RTR: toRTR, qp.RTS: toRTS}
	for _, s := range states {
		a := goodAttr()
		a.State, a.Access = s, mr.RemoteWrite
		if err := q.Modify(&a, qp.AttrState|masks[s]); err != nil {
			t.Fatal(err)
		}
	}
	return q
}

func TestModifySetsOnlyWhatTheMaskNames(t *testing.T) {
	q := walk(t, qp.INIT)
	if want := (qp.Attr{State: qp.INIT, Port: 1, Access: mr.RemoteWrite}); q.Attr != want {
		t.Errorf("in INIT %+v, want %+v", q.Attr, want)
	}

	q = walk(t, qp.INIT, qp.RTR, qp.RTS)
	want := goodAttr()
	want.State, want.Access, want.QKey = qp.RTS, mr.RemoteWrite, 0
	if diff := cmp.Diff(want, q.Attr); diff != "" {
		t.Errorf("in RTS, -want +got:\n%s", diff)
	}

	if err := q.Modify(&qp.Attr{MinRNRTimer: 3, Timeout: 9}, qp.AttrMinRNRTimer); err != nil {
		t.Fatal(err)
	}
	want.MinRNRTimer = 3
	if diff := cmp.Diff(want, q.Attr); diff != "" {
		t.Errorf("after a change of MIN_RNR_TIMER, -want +got:\n%s", diff)
	}
}

func TestEveryAttributeOfTheMaskArrives(t *testing.T) {
	a := goodAttr()
	a.State, a.SQDAsyncNotify, a.Access = qp.SQD, true, mr.RemoteRead
	q := &qp.QP{Type: qp.RC, Attr: qp.Attr{State: qp.RTS}}
	if err := q.Modify(&a, qp.AttrState|qp.AttrSQDAsyncNotify); err != nil {
		t.Fatal(err)
	}
	_, optional, _ := qp.Requirements(qp.RC, qp.SQD, qp.SQD)
	if err := q.Modify(&a, optional&^qp.AttrAltPath); err != nil {
		t.Fatal(err)
	}
	// Attributes that cannot change in SQD are unchanged.
	ignore := cmpopts.IgnoreFields(qp.Attr{}, "PathMTU", "RQPSN", "SQPSN", "DestQPN", "QKey")
	if diff := cmp.Diff(a, q.Attr, ignore); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestModifyToResetForgetsAllAttributes(t *testing.T) {
	q := walk(t, qp.INIT, qp.RTR, qp.RTS, qp.RESET)
	if q.Attr != (qp.Attr{}) {
		t.Errorf("in RESET %+v", q.Attr)
	}
}

func TestModifyToErrKeepsAttributes(t *testing.T) {
	q := walk(t, qp.INIT, qp.RTR)
	want := q.Attr
	want.State = qp.ERR
	if err := q.Modify(&qp.Attr{State: qp.ERR}, qp.AttrState); err != nil {
		t.Fatal(err)
	}
	if q.Attr != want {
		t.Errorf("in ERR %+v, want %+v", q.Attr, want)
	}
}

func TestModifyOfNothingChangesNothing(t *testing.T) {
	for _, s := range allStates {
		q := &qp.QP{Type: qp.RC, Attr: qp.Attr{State: s, QKey: 5}}
		if err := q.Modify(&qp.Attr{}, 0); err != nil || q.Attr != (qp.Attr{State: s, QKey: 5}) {
			t.Errorf("in %v: %v, %+v", s, err, q.Attr)
		}
	}
}

func TestModifyWithoutStateInAStateThatTakesNothing(t *testing.T) {
	for _, s := range []qp.State{qp.RESET, qp.RTR, qp.SQE, qp.ERR} {
		q := &qp.QP{Type: qp.RC, Attr: qp.Attr{State: s, QKey: 5}}
		err := q.Modify(&qp.Attr{Port: 1}, qp.AttrPort)
		if err == nil || !strings.Contains(err.Error(), "IBV_QP_PORT is not allowed") {
			t.Errorf("in %v: %v", s, err)
		}
		if q.Attr != (qp.Attr{State: s, QKey: 5}) {
			t.Errorf("in %v: left %+v", s, q.Attr)
		}
	}
}

func TestValuesOutOfRangeAreRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		from  qp.State
		mask  qp.AttrMask
		fault qp.AttrMask
		set   func(*qp.Attr)
		want  string // empty: success
	}{
		{"P_Key index", qp.RESET, toInit, qp.AttrPKeyIndex, func(a *qp.Attr) { a.PKeyIndex = 1 },
			"index 1, it must be 0 to 0"},
		{"port 0", qp.RESET, toInit, qp.AttrPort, func(a *qp.Attr) { a.Port = 0 }, "port 0, it must be 1 to 1"},
		{"port 2", qp.RESET, toInit, qp.AttrPort, func(a *qp.Attr) { a.Port = 2 }, "port 2, it must be 1 to 1"},
		{"no GID", qp.INIT, toRTR, qp.AttrAV, func(a *qp.Attr) { a.AV.DGID = qp.GID{} }, "needs the peer's GID"},
		{"flow label", qp.INIT, toRTR, qp.AttrAV, func(a *qp.Attr) { a.AV.FlowLabel = 1 << 20 },
			"flow label 1048576, it must be 0 to 1048575"},
		{"MTU 0", qp.INIT, toRTR, qp.AttrPathMTU, func(a *qp.Attr) { a.PathMTU = 0 }, "0 bytes, it must be 256"},
		{"MTU enum instead of bytes", qp.INIT, toRTR, qp.AttrPathMTU, func(a *qp.Attr) { a.PathMTU = 3 },
			"3 bytes, it must be 256"},
		{"MTU 4096", qp.INIT, toRTR, 0, func(a *qp.Attr) { a.PathMTU = 4096 }, ""},
		{"QPN 24 bits", qp.INIT, toRTR, 0, func(a *qp.Attr) { a.DestQPN = 0xffffff }, ""},
		{"QPN 25 bits", qp.INIT, toRTR, qp.AttrDestQPN, func(a *qp.Attr) { a.DestQPN = 1 << 24 },
			"QPN 16777216, it must be 0 to 16777215"},
		{"RQ PSN", qp.INIT, toRTR, qp.AttrRQPSN, func(a *qp.Attr) { a.RQPSN = 1 << 24 }, "PSN 16777216"},
		{"dest rd_atomic 128", qp.INIT, toRTR, 0, func(a *qp.Attr) { a.MaxDestRdAtomic = 128 }, ""},
		{"dest rd_atomic 129", qp.INIT, toRTR, qp.AttrMaxDestRdAtomic, func(a *qp.Attr) { a.MaxDestRdAtomic = 129 },
			"number 129, it must be 0 to 128"},
		{"RNR timer", qp.INIT, toRTR, qp.AttrMinRNRTimer, func(a *qp.Attr) { a.MinRNRTimer = 32 },
			"timer 32, it must be 0 to 31"},
		{"timeout 31", qp.RTR, toRTS, 0, func(a *qp.Attr) { a.Timeout = 31 }, ""},
		{"timeout 32", qp.RTR, toRTS, qp.AttrTimeout, func(a *qp.Attr) { a.Timeout = 32 },
			"timeout 32, it must be 0 to 31"},
		{"retry count", qp.RTR, toRTS, qp.AttrRetryCnt, func(a *qp.Attr) { a.RetryCnt = 8 },
			"count 8, it must be 0 to 7"},
		{"RNR retry", qp.RTR, toRTS, qp.AttrRNRRetry, func(a *qp.Attr) { a.RNRRetry = 8 },
			"count 8, it must be 0 to 7"},
		{"SQ PSN", qp.RTR, toRTS, qp.AttrSQPSN, func(a *qp.Attr) { a.SQPSN = 1 << 24 }, "PSN 16777216"},
		{"rd_atomic", qp.RTR, toRTS, qp.AttrMaxRdAtomic, func(a *qp.Attr) { a.MaxRdAtomic = 200 },
			"number 200, it must be 0 to 128"},
		{"rearm", qp.RTR, toRTS | qp.AttrMigState, qp.AttrMigState, func(a *qp.Attr) { a.MigState = qp.Rearm },
			"RoCE supports only 0"},
		{"state 7", qp.RTR, toRTS, qp.AttrState, func(a *qp.Attr) { a.State = 7 }, "out of range: 7"},
		{"wrong current state", qp.RTR, toRTS | qp.AttrCurState, qp.AttrCurState,
			func(a *qp.Attr) { a.CurState = qp.SQD }, "says SQD, but the queue pair is in RTR"},
		{"unnamed value", qp.RTR, toRTS, 0, func(a *qp.Attr) { a.MinRNRTimer, a.Port, a.PathMTU = 99, 99, 99 }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &qp.QP{Type: qp.RC, Attr: qp.Attr{State: c.from}}
			a := goodAttr()
			a.State = c.from + 1
			c.set(&a)
			err := q.Modify(&a, c.mask)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var e *qp.ModifyError
			if !errors.As(err, &e) || e.Attr != c.fault || !strings.Contains(e.Reason, c.want) {
				t.Errorf("error %v, want %v with %q", err, c.fault, c.want)
			}
			if q.Attr != (qp.Attr{State: c.from}) {
				t.Errorf("a refused Modify left %+v", q.Attr)
			}
		})
	}
}

// IBA 10.3.1.5: the transition to RTS is possible once the started work is finished.
func TestDrainingHoldsTheQueuePairInSQD(t *testing.T) {
	q := walk(t, qp.INIT, qp.RTR, qp.RTS)
	for range 2 {
		if err := q.SQ.Push(&qp.SendWR{Opcode: qp.WRSend}); err != nil {
			t.Fatal(err)
		}
	}
	q.SQ.At(q.SQ.Head()).Started = true
	if err := q.Modify(&qp.Attr{State: qp.SQD}, qp.AttrState); err != nil {
		t.Fatal(err)
	}
	if !q.SQDraining() {
		t.Error("not draining with started work")
	}
	err := q.Modify(&qp.Attr{State: qp.RTS}, qp.AttrState)
	if err == nil || !strings.Contains(err.Error(), "still draining") {
		t.Errorf("to RTS while draining: %v", err)
	}
	q.SQ.Pop()
	if q.SQDraining() {
		t.Error("draining with only work that was not started")
	}
	if err := q.Modify(&qp.Attr{State: qp.RTS}, qp.AttrState); err != nil {
		t.Errorf("to RTS when drained: %v", err)
	}
}

func TestAnEmptySendQueueIsDrained(t *testing.T) {
	q := walk(t, qp.INIT, qp.RTR, qp.RTS)
	if err := q.SQ.Push(&qp.SendWR{Opcode: qp.WRSend}); err != nil {
		t.Fatal(err)
	}
	// Every slot of the ring was used by a started request.
	for range 8 {
		q.SQ.At(q.SQ.Head()).Started = true
		q.SQ.Pop()
		if err := q.SQ.Push(&qp.SendWR{Opcode: qp.WRSend}); err != nil {
			t.Fatal(err)
		}
	}
	q.SQ.Pop()
	if err := q.Modify(&qp.Attr{State: qp.SQD}, qp.AttrState); err != nil {
		t.Fatal(err)
	}
	if q.SQDraining() {
		t.Error("draining with nothing in the queue")
	}
}

func TestDrainingDoesNotHoldErrAndReset(t *testing.T) {
	for _, to := range []qp.State{qp.ERR, qp.RESET} {
		q := walk(t, qp.INIT, qp.RTR, qp.RTS)
		if err := q.SQ.Push(&qp.SendWR{Opcode: qp.WRSend}); err != nil {
			t.Fatal(err)
		}
		q.SQ.At(q.SQ.Head()).Started = true
		for _, s := range []qp.State{qp.SQD, to} {
			if err := q.Modify(&qp.Attr{State: s}, qp.AttrState); err != nil {
				t.Error(err)
			}
		}
	}
}
