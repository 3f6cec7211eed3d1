package rdmacore_test

import (
	"testing"

	"github.com/gorxe/gorxe/verbs"
	"github.com/gorxe/gorxe/verbs/verbstest"
)

// ibv_create_qp and ibv_create_qp_ex are one call here.
var rdmaCoreQP = map[string]func(*testing.T){
	"test_create_rc_qp_no_attr":      createQP(verbs.RC),
	"test_create_rc_qp_ex_no_attr":   createQP(verbs.RC),
	"test_create_uc_qp_no_attr":      createQP(verbs.UC),
	"test_create_uc_qp_ex_no_attr":   createQP(verbs.UC),
	"test_create_rc_qp_with_attr":    createQPInInit(verbs.RC),
	"test_create_rc_qp_ex_with_attr": createQPInInit(verbs.RC),
	"test_create_uc_qp_with_attr":    createQPInInit(verbs.UC),
	"test_create_uc_qp_ex_with_attr": createQPInInit(verbs.UC),
	"test_create_ud_qp_no_attr":      createQP(verbs.UD),
	"test_create_ud_qp_ex_no_attr":   createQP(verbs.UD),
	"test_create_ud_qp_with_attr":    startDatagrams,
	"test_create_ud_qp_ex_with_attr": startDatagrams,
	"test_query_ud_qp":               createQP(verbs.UD),
	"test_modify_ud_qp":              startDatagrams,
	"test_query_rc_qp":               createQP(verbs.RC),
	"test_query_uc_qp":               createQP(verbs.UC),
	"test_modify_rc_qp_rd_atomic": func(t *testing.T) {
		_, server := newPlayers(t, playerOptions{rdAtomic: 12})
		if attr, _ := server.qp.Query(); attr.MaxRdAtomic < 12 || attr.MaxDestRdAtomic < 12 {
			t.Errorf("max_rd_atomic is %d and max_dest_rd_atomic %d, 12 were asked for", attr.MaxRdAtomic,
				attr.MaxDestRdAtomic)
		}
	},
}

// createQP creates a queue pair, which must be in RESET and have at least the requested
// capacities.
func createQP(service verbs.QPType) func(*testing.T) {
	return func(t *testing.T) {
		for _, sizes := range []verbs.QPCap{
			{MaxSendWR: 1, MaxRecvWR: 1, MaxSendSGE: 1, MaxRecvSGE: 1},
			{MaxSendWR: 100, MaxRecvWR: 200, MaxSendSGE: 3, MaxRecvSGE: 5, MaxInline: 64},
		} {
			q := newQPOf(t, service, sizes)
			attr, got := q.Query()
			if attr.State != verbs.RESET || q.State() != verbs.RESET {
				t.Errorf("a queue pair begins in %v, want RESET", attr.State)
			}
			if got.MaxSendWR < sizes.MaxSendWR || got.MaxRecvWR < sizes.MaxRecvWR ||
				got.MaxSendSGE < sizes.MaxSendSGE || got.MaxRecvSGE < sizes.MaxRecvSGE ||
				got.MaxInline < sizes.MaxInline {
				t.Errorf("the sizes are %+v, asked for were %+v", got, sizes)
			}
		}
	}
}

// createQPInInit creates a queue pair and sets its first attributes.
func createQPInInit(service verbs.QPType) func(*testing.T) {
	return func(t *testing.T) {
		q := newQPOf(t, service, verbstest.Cap)
		err := q.Modify(&verbs.QPAttr{State: verbs.INIT, Port: 1},
			verbs.AttrState|verbs.AttrPort|verbs.AttrPKeyIndex|verbs.AttrAccess)
		if err != nil || q.State() != verbs.INIT {
			t.Errorf("the queue pair is in %v, want INIT: %v", q.State(), err)
		}
	}
}

// startDatagrams moves a queue pair to RTS, where it has the attributes that were set.
func startDatagrams(t *testing.T) {
	q := newQPOf(t, verbs.UD, verbstest.Cap)
	if err := q.StartDatagrams(0x123, 0x45); err != nil {
		t.Fatal(err)
	}
	if attr, _ := q.Query(); attr.State != verbs.RTS || attr.QKey != 0x123 || attr.SQPSN != 0x45 {
		t.Errorf("the attributes are %+v, want RTS, Q_Key 0x123, PSN 0x45", attr)
	}
}

func newQPOf(t *testing.T, service verbs.QPType, sizes verbs.QPCap) *verbs.QP {
	t.Helper()
	d := verbstest.OpenPipe(t, 1500, "192.0.2.1")
	cq, err := d.CreateCQ(100)
	if err != nil {
		t.Fatal(err)
	}
	q, err := d.AllocPD().CreateQP(verbs.QPInitAttr{Type: service, SendCQ: cq, Cap: sizes})
	if err != nil {
		t.Fatal(err)
	}
	return q
}
