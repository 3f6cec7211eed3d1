package rings_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/rings"
)

// layout are the offsets that program_test.go and the other tests use as numbers, by C
// expression.
var layout = map[string]int{
	"offsetof(struct rxe_queue_buf, log2_elem_size)":      0,
	"offsetof(struct rxe_queue_buf, index_mask)":          4,
	"offsetof(struct rxe_queue_buf, producer_index)":      128,
	"offsetof(struct rxe_queue_buf, consumer_index)":      256,
	"offsetof(struct rxe_queue_buf, data)":                384,
	"sizeof(struct rxe_send_wr)":                          144,
	"offsetof(struct rxe_send_wr, wr_id)":                 0,
	"offsetof(struct rxe_send_wr, opcode)":                12,
	"offsetof(struct rxe_send_wr, send_flags)":            16,
	"offsetof(struct rxe_send_wr, ex.imm_data)":           20,
	"offsetof(struct rxe_send_wr, ex.invalidate_rkey)":    20,
	"offsetof(struct rxe_send_wr, wr.rdma.remote_addr)":   24,
	"offsetof(struct rxe_send_wr, wr.rdma.rkey)":          32,
	"offsetof(struct rxe_send_wr, wr.atomic.remote_addr)": 24,
	"offsetof(struct rxe_send_wr, wr.atomic.compare_add)": 32,
	"offsetof(struct rxe_send_wr, wr.atomic.swap)":        40,
	"offsetof(struct rxe_send_wr, wr.atomic.rkey)":        48,
	"offsetof(struct rxe_send_wr, wr.ud.remote_qpn)":      24,
	"offsetof(struct rxe_send_wr, wr.ud.remote_qkey)":     28,
	"offsetof(struct rxe_send_wr, wr.ud.ah_num)":          36,
	"offsetof(struct rxe_send_wr, wr.mw.addr)":            24,
	"offsetof(struct rxe_send_wr, wr.mw.length)":          32,
	"offsetof(struct rxe_send_wr, wr.mw.mr_lkey)":         40,
	"offsetof(struct rxe_send_wr, wr.mw.mw_rkey)":         44,
	"offsetof(struct rxe_send_wr, wr.mw.rkey)":            48,
	"offsetof(struct rxe_send_wr, wr.mw.access)":          52,
	"offsetof(struct rxe_send_wqe, wr)":                   0,
	"offsetof(struct rxe_send_wqe, dma)":                  184,
	"offsetof(struct rxe_dma_info, length)":               0,
	"offsetof(struct rxe_dma_info, resid)":                4,
	"offsetof(struct rxe_dma_info, num_sge)":              12,
	"offsetof(struct rxe_dma_info, inline_data)":          24,
	"offsetof(struct rxe_dma_info, sge)":                  24,
	"sizeof(struct rxe_dma_info)":                         24,
	"sizeof(struct rxe_sge)":                              16,
	"offsetof(struct rxe_sge, addr)":                      0,
	"offsetof(struct rxe_sge, length)":                    8,
	"offsetof(struct rxe_sge, lkey)":                      12,
	"offsetof(struct rxe_recv_wqe, wr_id)":                0,
	"offsetof(struct rxe_recv_wqe, dma)":                  16,
	"sizeof(struct rxe_send_wqe)":                         rings.SendElemSize(0, 8) - 8,
	"sizeof(struct rxe_recv_wqe)":                         rings.RecvElemSize(0),
	"sizeof(struct ib_uverbs_wc)":                         48,
	"offsetof(struct ib_uverbs_wc, wr_id)":                0,
	"offsetof(struct ib_uverbs_wc, status)":               8,
	"offsetof(struct ib_uverbs_wc, opcode)":               12,
	"offsetof(struct ib_uverbs_wc, vendor_err)":           16,
	"offsetof(struct ib_uverbs_wc, byte_len)":             20,
	"offsetof(struct ib_uverbs_wc, ex.imm_data)":          24,
	"offsetof(struct ib_uverbs_wc, ex.invalidate_rkey)":   24,
	"offsetof(struct ib_uverbs_wc, qp_num)":               28,
	"offsetof(struct ib_uverbs_wc, src_qp)":               32,
	"offsetof(struct ib_uverbs_wc, wc_flags)":             36,
	"offsetof(struct ib_uverbs_wc, pkey_index)":           40,
	"offsetof(struct ib_uverbs_wc, port_num)":             46,
}

// flushLayout is for Linux 6.3 and later.
var flushLayout = map[string]int{
	"offsetof(struct rxe_send_wr, wr.flush.remote_addr)": 24,
	"offsetof(struct rxe_send_wr, wr.flush.length)":      32,
	"offsetof(struct rxe_send_wr, wr.flush.rkey)":        36,
	"offsetof(struct rxe_send_wr, wr.flush.type)":        40,
	"offsetof(struct rxe_send_wr, wr.flush.level)":       41,
}

func TestLayoutIsThatOfTheKernelHeaders(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: ", err)
	}
	if text, err := checkLayout(t, cc, nil); err != nil {
		t.Skipf("no kernel headers of rxe: %v\n%s", err, text)
	}
	if text, err := checkLayout(t, cc, layout); err != nil {
		t.Errorf("%v\n%s", err, text)
	}
	if text, err := checkLayout(t, cc, flushLayout); strings.Contains(text, "no member named") {
		t.Log("the headers are older than FLUSH, whose offsets are not checked")
	} else if err != nil {
		t.Errorf("%v\n%s", err, text)
	}
}

// checkLayout compiles a program that asserts the layout, and returns the compiler's output.
func checkLayout(t *testing.T, cc string, want map[string]int) (string, error) {
	t.Helper()
	text := "#include <stddef.h>\n#include <rdma/rdma_user_rxe.h>\n#include <rdma/ib_user_verbs.h>\n"
	for expr, n := range want {
		text += fmt.Sprintf("_Static_assert(%s == %d, \"%s\");\n", expr, n, expr)
	}
	file := filepath.Join(t.TempDir(), "layout.c")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(cc, "-std=c11", "-fsyntax-only", file).CombinedOutput()
	return string(out), err
}
