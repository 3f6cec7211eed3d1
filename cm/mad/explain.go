package mad

import "fmt"

// Explain returns the error of [Message.Decode] for b, with the rejected values, for display. It
// returns nil if Decode accepts b. The error wraps the [*DecodeError]. Unlike Decode, it allocates.
func Explain(b []byte) error {
	var m Message
	err := m.Decode(b)
	switch ReasonOf(err) {
	case ReasonNone:
		return nil
	case ReasonLength:
		return fmt.Errorf("%w: got %d", err, len(b))
	case ReasonBaseVersion:
		return fmt.Errorf("%w: got %d", err, b[0])
	case ReasonClass:
		return fmt.Errorf("%w: got %d", err, b[1])
	case ReasonClassVersion:
		return fmt.Errorf("%w: got %d", err, b[2])
	case ReasonMethod:
		return fmt.Errorf("%w: got 0x%02x", err, b[3])
	case ReasonAttribute:
		return fmt.Errorf("%w: got 0x%04x", err, uint16(m.Attribute))
	default:
		return fmt.Errorf("%w: a %s with %d", err, m.Attribute, infoLength(m.Attribute, b[HeaderLen:]))
	}
}

// infoLength returns the length field of the additional information in a REJ or SIDR_REP.
func infoLength(a Attribute, data []byte) int {
	if a == AttrREJ {
		return int(data[rejInfoLengthAt] >> 1)
	}
	return int(data[sidrInfoLengthAt])
}
