package ulp

import "time"

// Role is what a message does in the upper-layer protocol of its connection: a SEND carries a PDU;
// a WRITE or READ transfers data of a command.
type Role struct {
	// PDU is the header of a SEND. For a WRITE or READ it has the protocol, the name and the ID of
	// the command. For a response, Dialect and Command are those of its command.
	PDU PDU
	// Context is what the PDU was parsed with.
	Context Context
	// Transfer reports whether the message is a WRITE or READ in a buffer that an outstanding
	// command advertised.
	Transfer bool
	// Message is the number of the message with the command, if this one is its response or
	// transfers its data; otherwise 0. Frame is the number of the first frame of that message.
	Message, Frame int
	// Latency is the time from the first packet of the command to that of its response, if this is
	// the response. HasLatency reports whether it is known.
	Latency    time.Duration
	HasLatency bool
	// Invalidates reports whether the message invalidates a key that its command advertised.
	Invalidates bool
}

// Append appends the role as one line of text to b, such as "NVMe-oF I/O Read response, CID 5:
// Successful Completion, 85µs after the command in frame 12".
func (u *Role) Append(b []byte) []byte {
	if u.Transfer {
		b = u.PDU.AppendName(append(b, "data of "...))
		return appendInt(append(b, ", command in frame "...), u.Frame)
	}
	b = u.PDU.Append(b)
	if u.Frame == 0 {
		return b
	}
	if u.HasLatency {
		b = append(append(append(b, ", "...), short(u.Latency)...), " after"...)
	} else {
		b = append(b, ", for"...)
	}
	b = appendInt(append(b, " the command in frame "...), u.Frame)
	if u.Invalidates {
		b = append(b, ", whose key it invalidates"...)
	}
	return b
}

// String returns the line of Append.
func (u *Role) String() string { return string(u.Append(nil)) }

// short formats a duration with three significant digits.
func short(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}
