package bth

// Reason says why a packet was rejected. Values are contiguous from 0 to [NumReasons]-1, so
// that an array indexed by Reason can serve as a set of counters, named by String.
type Reason uint8

const (
	ReasonNone              Reason = iota // not rejected
	ReasonShortBTH                        // shorter than a BTH
	ReasonVersion                         // transport header version not 0
	ReasonUnknownOpcode                   // opcode that RoCEv2 does not carry
	ReasonShortHeader                     // shorter than the headers of its opcode
	ReasonShortICRC                       // no space for the ICRC after the headers
	ReasonUnaligned                       // length not a multiple of 4
	ReasonOversize                        // payload and pad longer than MaxPayload
	ReasonUnexpectedPayload               // payload after an opcode that carries none
	ReasonPad                             // pad count larger than the payload
	ReasonSyndrome                        // AETH syndrome of a reserved type
	ReasonIPVersion                       // neither IPv4 nor IPv6
	ReasonIPTruncated                     // shorter than its IP or UDP header says
	ReasonIPOptions                       // IPv4 options or IPv6 extension headers
	ReasonIPFragment                      // a fragment of an IP datagram
	ReasonNotUDP                          // protocol other than UDP
	ReasonUDPLength                       // UDP length inconsistent with the IP length

	// NumReasons is the number of reasons, ReasonNone included.
	NumReasons = int(iota)
)

var reasons = [NumReasons]struct{ name, text string }{
	ReasonNone:              {"none", "not refused"},
	ReasonShortBTH:          {"short_bth", "shorter than the 12-byte BTH"},
	ReasonVersion:           {"bad_version", "transport header version is not 0"},
	ReasonUnknownOpcode:     {"unknown_opcode", "opcode not valid for RoCEv2"},
	ReasonShortHeader:       {"short_header", "shorter than the headers of its opcode"},
	ReasonShortICRC:         {"short_icrc", "no space for the ICRC after the headers"},
	ReasonUnaligned:         {"unaligned_length", "length is not a multiple of 4"},
	ReasonOversize:          {"oversize", "payload is longer than 4096 bytes"},
	ReasonUnexpectedPayload: {"unexpected_payload", "payload after an opcode that carries none"},
	ReasonPad:               {"bad_pad", "pad count is larger than the payload"},
	ReasonSyndrome:          {"reserved_syndrome", "AETH syndrome is of a reserved type"},
	ReasonIPVersion:         {"ip_version", "neither IPv4 nor IPv6"},
	ReasonIPTruncated:       {"ip_truncated", "shorter than its IP and UDP headers say"},
	ReasonIPOptions:         {"ip_options", "IPv4 header not 20 bytes long, or IPv6 extension headers"},
	ReasonIPFragment:        {"ip_fragment", "IP fragment"},
	ReasonNotUDP:            {"not_udp", "not UDP"},
	ReasonUDPLength:         {"udp_length", "UDP length inconsistent with the IP length"},
}

// String returns the reason as a counter name, such as "unknown_opcode".
func (r Reason) String() string {
	if int(r) < NumReasons {
		return reasons[r].name
	}
	return "unknown"
}

// DecodeError is the error of [Packet.Decode] and [SeedIP]. The values, one for each reason,
// are preallocated, so that malformed packets cost no memory. [Explain] returns the same
// verdict with the field values that caused it.
type DecodeError struct {
	Reason Reason
}

// Error says which rule the packet violates.
func (e *DecodeError) Error() string {
	if int(e.Reason) < NumReasons {
		return "bth: packet refused: " + reasons[e.Reason].text
	}
	return "bth: packet refused"
}

// ReasonOf returns the reason of an error of [Packet.Decode] or [SeedIP], and [ReasonNone] for
// nil and for any other error. It does not unwrap err.
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
