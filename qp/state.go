package qp

import "fmt"

// State is the state of a queue pair (IBA 10.3.1). Values are those of ibv_qp_state.
type State uint8

const (
	RESET State = iota // made, nothing can be posted
	INIT               // receives can be posted, nothing moves
	RTR                // ready to receive
	RTS                // ready to send
	SQD                // send queue drained: started work is finished, no more is started
	SQE                // send queue error: an unreliable sender failed, receives go on
	ERR                // all work is flushed

	numStates = 7
)

var stateNames = [numStates]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}

// Valid is true for the states above.
func (s State) Valid() bool { return s < numStates }

// String is the name as in IBV_QPS_*, such as "RTS".
func (s State) String() string {
	if s.Valid() {
		return stateNames[s]
	}
	return fmt.Sprintf("QPS(%d)", uint8(s))
}
