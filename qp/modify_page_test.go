package qp_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/internal/golden"
	"github.com/gorxe/gorxe/qp"
)

const statesHead = `# States of a queue pair

A queue pair (QP) is always in one of seven states, which ` + "`QP.Modify`" + ` (` + "`ibv_modify_qp`" + `) and errors change:

| state | meaning |
|---|---|
| RESET | created; nothing can be posted |
| INIT | receives can be posted |
| RTR | ready to receive |
| RTS | ready to send |
| SQD | send queue drained: requests that were started finish, no others are started |
| SQE | send queue error (UC, UD, GSI): receiving continues |
| ERR | all requests are flushed |

A request is *flushed* when it completes with WR_FLUSH_ERR without being executed. (A send request that was sent but not
acknowledged is flushed too; the peer may have executed it.) The GSI queue pair is number 1, that of the connection
manager. An SRQ is a shared receive queue.

## Changes of state

The table lists the attributes that each change needs (required) and takes (optional) besides IBV_QP_STATE. It follows
IBA 11.2.5.2, as the Linux kernel checks it. Changes to RESET and to ERR are possible from every state, without
attributes. A refused change leaves the queue pair as it was. Its error names an attribute that is missing, not allowed
there or out of range, or says that the queue pair is still draining. ` + "`go test ./qp -update`" + ` generates the table
from ` + "`qp/modify_table.go`" + `.

| attribute | meaning |
|---|---|
| ACCESS_FLAGS | operations that the peer may use: WRITE, READ, atomics |
| ALT_PATH | alternate path; in the table, as in Linux, but gorxe refuses it: RoCE has none |
| AV | address vector: the path to the peer, with its GID |
| CUR_STATE | state in which the caller expects the queue pair; the change is refused if the queue pair is in another state |
| DEST_QPN | number of the peer's queue pair |
| EN_SQD_ASYNC_NOTIFY | raise the event SQ_DRAINED when the send queue is drained |
| MAX_DEST_RD_ATOMIC, MAX_QP_RD_ATOMIC | maximum number of outstanding READs and atomics of the peer, of this end |
| MIN_RNR_TIMER | delay that the RNR NAKs of this end ask for |
| PATH_MIG_STATE | state of path migration; only MIGRATED is supported |
| PATH_MTU | largest payload of a packet |
| PKEY_INDEX, PORT | index of the P_Key, the partition key (only 0), port of the device (only 1) |
| QKEY | Q_Key (queue key) that received datagrams must have |
| RETRY_CNT, RNR_RETRY | number of retries after a timeout, after an RNR NAK |
| RQ_PSN, SQ_PSN | first PSN that this end expects from the peer, first PSN that it sends |
| TIMEOUT | acknowledgement timeout: 4.096 µs times 2^TIMEOUT |

| type | from | to | required | optional |
|---|---|---|---|---|
`

const statesTail = `
RC never enters SQE; the row is in the table because Linux has it.

## What happens in a state

| state | send requests | receive requests | automatic change to |
|---|---|---|---|
| RESET | cannot be posted | cannot be posted | none |
| INIT | cannot be posted | can be posted; arriving packets are dropped | ERR |
| RTR | cannot be posted | are filled; event COMM_EST at the first request of the peer (RC, UC) | ERR |
| RTS | are sent | are filled | ERR; SQE after a send that failed (UC, UD, GSI) |
| SQD | those that were started finish, then event SQ_DRAINED if EN_SQD_ASYNC_NOTIFY was set; the others wait for RTS | are filled | ERR; SQE after a send that failed (UC) |
| SQE | are flushed | are filled | ERR |
| ERR | are flushed | are flushed; those of an SRQ stay in it, and the event QP_LAST_WQE_REACHED reports that the queue pair takes no more of them | none |

If a queue pair goes to ERR and no completion reports the reason, an asynchronous event does:

- QP_ACCESS_ERR (RC): a request of the peer had no right to access the memory.
- QP_REQ_ERR (RC): a request of the peer was not valid.
- QP_FATAL: a request of the peer failed because of an error at this end (RC), or a completion was lost because its
  completion queue was full. Only the latter moves a queue pair from INIT to ERR automatically.
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
