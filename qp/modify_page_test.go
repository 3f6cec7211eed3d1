package qp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/qp"
)

const statesHead = `# States of a queue pair

What each change of state needs and takes besides IBV_QP_STATE, as ` + "`QP.Modify`" + ` checks it. The table is that of IBA 11.2.5.2
in the form the Linux kernel checks it; ` + "`go test ./qp -update`" + ` writes this page from the one in ` + "`qp/modify_table.go`" + `.
From every state there is a way to RESET and to ERR without any attribute. A refused change leaves the queue pair as it
was, and its error names one attribute and says why: it is missing, is not allowed there, is out of range, or the queue
pair is still draining. IBV_QP_ALT_PATH is in the table and refused: RoCE has no alternate paths.

| type | from | to | required | optional |
|---|---|---|---|---|
`

const statesTail = `
## What happens in a state

| state | sends | receives | left by the machine for |
|---|---|---|---|
| RESET | cannot be posted | cannot be posted | |
| INIT | cannot be posted | can be posted; packets are dropped | |
| RTR | cannot be posted | are filled; COMM_EST at the first request (RC, UC) | ERR |
| RTS | leave | are filled | ERR; SQE after a send that failed (UC, UD) |
| SQD | those that were started finish, then SQ_DRAINED if it was asked for; the others wait for RTS | are filled | ERR |
| SQE | are flushed | are filled | ERR |
| ERR | are flushed | are flushed; those of an SRQ stay there, and QP_LAST_WQE_REACHED tells | |

A queue pair goes to ERR with QP_ACCESS_ERR, QP_REQ_ERR or QP_FATAL where no completion tells of the reason: a request of
the peer reached for memory it may not, was not valid, or met a fault on this side (RC); or a completion was lost.
`

// docs/qp-states.md must match the table.
func TestPageOfStatesIsTheTable(t *testing.T) {
	var b strings.Builder
	b.WriteString(statesHead)
	for _, typ := range []qp.Type{qp.RC, qp.UC, qp.UD, qp.GSI} {
		for _, from := range allStates {
			for _, to := range allStates {
				required, optional, ok := qp.Requirements(typ, from, to)
				if ok && to != qp.RESET && to != qp.ERR {
					fmt.Fprintf(&b, "| %v | %v | %v | %s | %s |\n", typ, from, to, strings.Join(names(required), ", "),
						strings.Join(names(optional), ", "))
				}
			}
		}
	}
	b.WriteString(statesTail)
	const page = "../docs/qp-states.md"
	golden.CheckFile(t, page, b.String())
}
