package qp_test

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/qp"
)

var (
	allTypes  = []qp.Type{qp.GSI, qp.RC, qp.UC, qp.UD}
	allStates = []qp.State{qp.RESET, qp.INIT, qp.RTR, qp.RTS, qp.SQD, qp.SQE, qp.ERR}
)

// Attributes that ib_modify_qp_is_ok of Linux 6.12 requires for each transition, except those
// to RESET and ERR: the required attributes, then the optional ones.
const linuxTable = `
GSI RESET INIT: PKEY_INDEX QKEY;
GSI INIT INIT: ; PKEY_INDEX QKEY
GSI INIT RTR: ; PKEY_INDEX QKEY
GSI RTR RTS: SQ_PSN; CUR_STATE QKEY
GSI RTS RTS: ; CUR_STATE QKEY
GSI RTS SQD: ; EN_SQD_ASYNC_NOTIFY
GSI SQD RTS: ; CUR_STATE QKEY
GSI SQD SQD: ; PKEY_INDEX QKEY
GSI SQE RTS: ; CUR_STATE QKEY
RC RESET INIT: PKEY_INDEX PORT ACCESS_FLAGS;
RC INIT INIT: ; PKEY_INDEX PORT ACCESS_FLAGS
RC INIT RTR: AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER; ALT_PATH ACCESS_FLAGS PKEY_INDEX
RC RTR RTS: TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC; CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
RC RTS RTS: ; CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER
RC RTS SQD: ; EN_SQD_ASYNC_NOTIFY
RC SQD RTS: ; CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE
RC SQD SQD: ; PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE
RC SQE RTS: ;
UC RESET INIT: PKEY_INDEX PORT ACCESS_FLAGS;
UC INIT INIT: ; PKEY_INDEX PORT ACCESS_FLAGS
UC INIT RTR: AV PATH_MTU DEST_QPN RQ_PSN; ALT_PATH ACCESS_FLAGS PKEY_INDEX
UC RTR RTS: SQ_PSN; CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
UC RTS RTS: ; CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE
UC RTS SQD: ; EN_SQD_ASYNC_NOTIFY
UC SQD RTS: ; CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE
UC SQD SQD: ; AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE
UC SQE RTS: ; CUR_STATE ACCESS_FLAGS
UD RESET INIT: PKEY_INDEX PORT QKEY;
UD INIT INIT: ; PKEY_INDEX PORT QKEY
UD INIT RTR: ; PKEY_INDEX QKEY
UD RTR RTS: SQ_PSN; CUR_STATE QKEY
UD RTS RTS: ; CUR_STATE QKEY
UD RTS SQD: ; EN_SQD_ASYNC_NOTIFY
UD SQD RTS: ; CUR_STATE QKEY
UD SQD SQD: ; PKEY_INDEX QKEY
UD SQE RTS: ; CUR_STATE QKEY
`

func TestRequirementsAreThoseOfLinux(t *testing.T) {
	var want []string
	for line := range strings.Lines(linuxTable) {
		if way, masks, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			required, optional, _ := strings.Cut(masks, ";")
			want = append(want, row(way, strings.Fields(required), strings.Fields(optional)))
		}
	}
	var got []string
	for _, typ := range allTypes {
		for _, from := range allStates {
			for _, to := range allStates {
				required, optional, ok := qp.Requirements(typ, from, to)
				if to == qp.RESET || to == qp.ERR {
					if !ok || required != 0 || optional != 0 {
						t.Errorf("%v %v to %v: %v, %v, %v; every state leads there without attributes", typ, from, to,
							required, optional, ok)
					}
					continue
				}
				if ok {
					got = append(got, row(fmt.Sprint(typ, " ", from, " ", to), names(required), names(optional)))
				}
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-linux +gorxe:\n%s", diff)
	}
}

func row(way string, required, optional []string) string {
	slices.Sort(required)
	slices.Sort(optional)
	return fmt.Sprintf("%s: %s; %s", way, strings.Join(required, " "), strings.Join(optional, " "))
}

func names(m qp.AttrMask) []string {
	if m == 0 {
		return nil
	}
	return strings.Split(strings.ReplaceAll(m.String(), "IBV_QP_", ""), "|")
}

func TestRequirementsOfUnknownNumbersAreNone(t *testing.T) {
	for _, c := range []struct {
		typ      qp.Type
		from, to qp.State
	}{{0, qp.RESET, qp.INIT}, {9, qp.RESET, qp.RESET}, {qp.RC, 7, qp.RESET}, {qp.RC, qp.INIT, 7}} {
		if _, _, ok := qp.Requirements(c.typ, c.from, c.to); ok {
			t.Errorf("there is a way for type %d from %d to %d", c.typ, c.from, c.to)
		}
	}
}

// For every type and pair of states: the transition succeeds with exactly the required
// attributes. It fails without any one of them and with any one attribute that is not
// permitted; the error names the attribute, and the queue pair is unchanged.
func TestModifyHoldsTheTable(t *testing.T) {
	for _, typ := range allTypes {
		for _, from := range allStates {
			for _, to := range allStates {
				required, optional, ok := qp.Requirements(typ, from, to)
				t.Run(fmt.Sprintf("%v/%v-%v", typ, from, to), func(t *testing.T) {
					if !ok {
						refused(t, typ, from, to, qp.AttrState|required, qp.AttrState, "there is no transition")
						return
					}
					taken(t, typ, from, to, qp.AttrState|required)
					for m := range eachBit(required) {
						refused(t, typ, from, to, qp.AttrState|required&^m, m, "is missing")
					}
					for m := range eachBit(optional) {
						if m == qp.AttrAltPath {
							refused(t, typ, from, to, qp.AttrState|required|m, m, "not supported")
						} else {
							taken(t, typ, from, to, qp.AttrState|required|m)
						}
					}
					for m := range eachBit(^(required | optional | qp.AttrState)) {
						refused(t, typ, from, to, qp.AttrState|required|m, m, "is not allowed")
					}
				})
			}
		}
	}
}

func eachBit(m qp.AttrMask) func(func(qp.AttrMask) bool) {
	return func(yield func(qp.AttrMask) bool) {
		for ; m != 0; m &= m - 1 {
			if !yield(1 << bits.TrailingZeros32(uint32(m))) {
				return
			}
		}
	}
}

func taken(t *testing.T, typ qp.Type, from, to qp.State, mask qp.AttrMask) {
	t.Helper()
	q := &qp.QP{Num: 0x11, Type: typ, Attr: qp.Attr{State: from}}
	a := goodAttr()
	a.State, a.CurState = to, from
	if err := q.Modify(&a, mask); err != nil {
		t.Errorf("%v: %v", mask, err)
	}
	if q.State() != to {
		t.Errorf("%v: the state is %v", mask, q.State())
	}
}

func refused(t *testing.T, typ qp.Type, from, to qp.State, mask, fault qp.AttrMask, reason string) {
	t.Helper()
	q := &qp.QP{Num: 0x11, Type: typ, Attr: qp.Attr{State: from, QKey: 77}}
	before := q.Attr
	a := goodAttr()
	a.State, a.CurState = to, from
	err := q.Modify(&a, mask)
	var e *qp.ModifyError
	if !errors.As(err, &e) {
		t.Errorf("%v: error %v, want one about %v", mask, err, fault)
		return
	}
	if e.Attr != fault || e.From != from || e.To != to || !strings.Contains(e.Reason, reason) {
		t.Errorf("%v: error %q, want %v %s", mask, err, fault, reason)
	}
	for _, s := range []string{from.String(), to.String(), fault.String(), typ.String(), "0x000011"} {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("error %q does not name %s", err, s)
		}
	}
	if q.Attr != before {
		t.Errorf("a refused Modify left %+v", q.Attr)
	}
}

// goodAttr has a valid value for every attribute.
func goodAttr() qp.Attr {
	return qp.Attr{
		PathMTU: 1024, RQPSN: 1, SQPSN: 2, DestQPN: 3, Port: 1, QKey: 4,
		AV:          qp.AddressVector{DGID: qp.GID{15: 1}, HopLimit: 64},
		MaxRdAtomic: 1, MaxDestRdAtomic: 1, MinRNRTimer: 12, Timeout: 14, RetryCnt: 7, RNRRetry: 7,
	}
}
