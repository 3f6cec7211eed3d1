package qp

// transition is one row of the state table: the attributes that a queue pair of one of
// these types must and may be given on the way between two states.
type transition struct {
	from, to           State
	types              typeSet
	required, optional AttrMask
}

var datagram = types(UD, GSI)

// Attributes that always go together.
const (
	initAttrs  = AttrPKeyIndex | AttrPort | AttrAccess
	initUD     = AttrPKeyIndex | AttrPort | AttrQKey
	initGSI    = AttrPKeyIndex | AttrQKey
	peerAttrs  = AttrAV | AttrPathMTU | AttrDestQPN | AttrRQPSN
	pathAttrs  = AttrAltPath | AttrAccess | AttrMigState
	retryAttrs = AttrTimeout | AttrRetryCnt | AttrRNRRetry | AttrMaxRdAtomic
)

// transitions is the table of IBA 11.2.5.2 in the form the Linux kernel checks it
// (ib_modify_qp_is_ok). Rows with equal states are a move without a change of state. To
// RESET and to ERR there is a way from every state, with no attributes: see [Requirements].
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

	{SQD, SQD, types(RC), 0, AttrPort | AttrAV | retryAttrs | AttrMaxDestRdAtomic | pathAttrs | AttrPKeyIndex | AttrMinRNRTimer},
	{SQD, SQD, types(UC), 0, AttrAV | pathAttrs | AttrPKeyIndex},
	{SQD, SQD, datagram, 0, AttrPKeyIndex | AttrQKey},

	{SQE, RTS, types(RC), 0, 0},
	{SQE, RTS, types(UC), 0, AttrCurState | AttrAccess},
	{SQE, RTS, datagram, 0, AttrCurState | AttrQKey},
}

// Requirements tells which attributes besides [AttrState] a queue pair of type t must be
// given to move between two states, and which it may be given. With from equal to to it
// is about changing attributes alone. ok is false when there is no such way.
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
