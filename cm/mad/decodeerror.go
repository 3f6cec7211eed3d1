package mad

// Reason is the reason why a message is rejected. Reasons are consecutive from 0 to
// [NumReasons]-1, so that they can index an array of counters; String returns the name of the
// counter.
type Reason uint8

const (
	ReasonNone          Reason = iota // not rejected
	ReasonLength                      // length is not 256
	ReasonBaseVersion                 // base version is not 1
	ReasonClass                       // management class is not CM (7)
	ReasonClassVersion                // class version is not 2
	ReasonMethod                      // method is not Send (3)
	ReasonAttribute                   // attribute is not a message of the CM
	ReasonInfoLength                  // additional information is longer than its field
	ReasonIPLength                    // private data is too short for an IP header
	ReasonIPCMVersion                 // version of the IP CM service is not 0
	ReasonIPVersion                   // neither IPv4 nor IPv6
	ReasonIPSource                    // source address is invalid for a host
	ReasonIPDestination               // destination address is invalid for a host
	ReasonIPSender                    // source address is not that of the sender

	// NumReasons is the number of reasons, including ReasonNone.
	NumReasons = int(iota)
)

var reasons = [NumReasons]struct{ name, text string }{
	ReasonNone:          {"none", "not refused"},
	ReasonLength:        {"mad_length", "length of the MAD is not 256"},
	ReasonBaseVersion:   {"base_version", "base version of the MAD is not 1"},
	ReasonClass:         {"mgmt_class", "management class of the MAD is not 7, communication management"},
	ReasonClassVersion:  {"class_version", "class version of the MAD is not 2"},
	ReasonMethod:        {"method", "method of the MAD is not 3, Send"},
	ReasonAttribute:     {"unknown_attribute", "attribute of the MAD is no message of the CM"},
	ReasonInfoLength:    {"info_length", "additional information is longer than 72 bytes"},
	ReasonIPLength:      {"ip_length", "private data is too short for the 36 bytes of an IP header"},
	ReasonIPCMVersion:   {"ip_cm_version", "version of the IP CM service is not 0"},
	ReasonIPVersion:     {"ip_version", "IP version is neither 4 nor 6"},
	ReasonIPSource:      {"ip_source", "source address is multicast, broadcast, loopback or unspecified"},
	ReasonIPDestination: {"ip_destination", "destination address is broadcast, loopback or unspecified"},
	ReasonIPSender:      {"ip_sender", "source address is not the address that the message comes from"},
}

// String returns the reason as a counter name, such as "unknown_attribute".
func (r Reason) String() string {
	if int(r) < NumReasons {
		return reasons[r].name
	}
	return "unknown"
}

// DecodeError is the error of [Message.Decode], [IPHeader.Decode], [IPHeader.Check],
// [IPHeader.CheckSender] and [REQ.CheckSender]. There is one preallocated value per reason, so that
// hostile messages cause no allocation. [Explain] returns the same error with the rejected values.
type DecodeError struct {
	Reason Reason
}

// Error describes the rule that the message violates.
func (e *DecodeError) Error() string {
	if int(e.Reason) < NumReasons {
		return "cm: message refused: " + reasons[e.Reason].text
	}
	return "cm: message refused"
}

// ReasonOf returns the reason of a [*DecodeError], and [ReasonNone] for any other error and for
// nil. It does not unwrap err.
func ReasonOf(err error) Reason {
	if e, ok := err.(*DecodeError); ok && e != nil {
		return e.Reason
	}
	return ReasonNone
}

var decodeErrors = func() (errs [NumReasons]*DecodeError) {
	for r := range errs {
		errs[r] = &DecodeError{Reason(r)}
	}
	return errs
}()

func refuse(r Reason) error { return decodeErrors[r] }
