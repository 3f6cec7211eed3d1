package qp

import "fmt"

// State is the state of a queue pair (IBA 10.3.1). The values are those of ibv_qp_state.
type State uint8

const (
	RESET State = iota // created, nothing can be posted
	INIT               // receives can be posted, no packet is sent or received
	RTR                // ready to receive
	RTS                // ready to send
	SQD                // send queue drained: started work completes, no more is started
	SQE                // send queue error of an unreliable service; receives continue
	ERR                // all work is flushed

	numStates = 7
)

var stateNames = [numStates]string{"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"}

// Valid reports whether s is one of the states above.
func (s State) Valid() bool { return s < numStates }

// String returns the name without IBV_QPS_, such as "RTS".
func (s State) String() string {
	if s.Valid() {
		return stateNames[s]
	}
	return fmt.Sprintf("QPS(%d)", uint8(s))
}
