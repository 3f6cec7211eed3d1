package qp

// transition is one row of the state table: the attributes that a transition of queue pairs of
// these types requires and permits.
type transition struct {
	from, to           State
	types              typeSet
	required, optional AttrMask
}

var datagram = types(UD, GSI)

// Attributes that the transitions use together.
const (
	initAttrs  = AttrPKeyIndex | AttrPort | AttrAccess
	initUD     = AttrPKeyIndex | AttrPort | AttrQKey
	initGSI    = AttrPKeyIndex | AttrQKey
	peerAttrs  = AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN
	pathAttrs  = AttrAltPath | AttrAccess | AttrMigState
	retryAttrs = AttrTimeout | AttrRetryCnt | AttrRNRRetry | AttrMaxRdAtomic
)

// transitions is the table of IBA 11.2.5.2 as Linux checks it (ib_modify_qp_is_ok). Rows with
// equal states change attributes only. Transitions to RESET and ERR are not in the table: they
// are allowed from every state, without attributes; see [Requirements].
var transitions = []transition{
	{RESET, INIT, connected, initAttrs, 0},
	{RESET, INIT, types(UD), initUD, 0},
	{RESET, INIT, types(GSI), initGSI, 0},

	{INIT, INIT, connected, 0, initAttrs},
	{INIT, INIT, types(UD), 0, initUD},
	{INIT, INIT, types(GSI), 0, initGSI},

	{INIT, RTR, types(RC), peerAttrs | AttrMaxDestRdAtomic | AttrMinRNRTimer, AttrAltPath | AttrAccess | AttrPKeyIndex},
	{INIT, RTR, types(UC), peerAttrs, AttrAltPath | AttrAccess | AttrPKeyIndex},
	{INIT, RTR, datagram, 0, AttrPKeyIndex | AttrQKey},

	{RTR, RTS, types(RC), AttrSQPSN | retryAttrs, AttrCurState | pathAttrs | AttrMinRNRTimer},
	{RTR, RTS, types(UC), AttrSQPSN, AttrCurState | pathAttrs},
	{RTR, RTS, datagram, AttrSQPSN, AttrCurState | AttrQKey},

	{RTS, RTS, types(RC), 0, AttrCurState | pathAttrs | AttrMinRNRTimer},
	{RTS, RTS, types(UC), 0, AttrCurState | pathAttrs},
	{RTS, RTS, datagram, 0, AttrCurState | AttrQKey},

	{RTS, SQD, anyType, 0, AttrSQDAsyncNotify},

	{SQD, RTS, types(RC), 0, AttrCurState | pathAttrs | AttrMinRNRTimer},
	{SQD, RTS, types(UC), 0, AttrCurState | pathAttrs},
	{SQD, RTS, datagram, 0, AttrCurState | AttrQKey},

	{SQD, SQD, types(RC), 0, AttrPort | AttrAV | retryAttrs | AttrMaxDestRdAtomic | pathAttrs |
		AttrPKeyIndex | AttrMinRNRTimer},
	{SQD, SQD, types(UC), 0, AttrAV | pathAttrs | AttrPKeyIndex},
	{SQD, SQD, datagram, 0, AttrPKeyIndex | AttrQKey},

	{SQE, RTS, types(RC), 0, 0},
	{SQE, RTS, types(UC), 0, AttrCurState | AttrAccess},
	{SQE, RTS, datagram, 0, AttrCurState | AttrQKey},
}

// Requirements returns the attributes besides [AttrState] that a queue pair of type t must set,
// and may set, in a transition. If from equals to, they are those of a change without a
// transition. ok is false if there is no such transition.
func Requirements(t Type, from, to State) (required, optional AttrMask, ok bool) {
	if !t.Valid() || !from.Valid() || !to.Valid() {
		return 0, 0, false
	}
	if to == RESET || to == ERR {
		return 0, 0, true
	}
	for i := range transitions {
		if r := &transitions[i]; r.from == from && r.to == to && r.types.has(t) {
			return r.required, r.optional, true
		}
	}
	return 0, 0, false
}
