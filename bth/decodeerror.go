package bth

// Reason says why a packet was refused. Reasons are dense from 0 to
// [NumReasons]-1: an array indexed by them is a set of counters, and String
// gives a counter's name.
type Reason uint8

const (
	ReasonNone              Reason = iota // not refused
	ReasonShortBTH                        // shorter than a BTH
	ReasonVersion                         // transport header version not 0
	ReasonUnknownOpcode                   // an opcode RoCEv2 does not carry
	ReasonShortHeader                     // the opcode's extension headers do not fit
	ReasonShortICRC                       // no room for the ICRC after the headers
	ReasonUnaligned                       // length not a multiple of 4
	ReasonOversize                        // payload and pad longer than MaxPayload
	ReasonUnexpectedPayload               // payload after an opcode that carries none
	ReasonPad                             // more pad than there are bytes to pad
	ReasonAtomicWriteLength               // ATOMIC WRITE whose payload is not 8 bytes
	ReasonSyndrome                        // AETH syndrome of a reserved type
	ReasonIPVersion                       // neither IPv4 nor IPv6
	ReasonIPTruncated                     // shorter than its IP or UDP header says
	ReasonIPOptions                       // IPv4 options or IPv6 extension headers
	ReasonIPFragment                      // a fragment of an IP datagram
	ReasonNotUDP                          // another protocol than UDP
	ReasonUDPLength                       // UDP length at odds with the IP length

	// NumReasons is the number of reasons, ReasonNone included.
	NumReasons = int(iota)
)

var reasons = [NumReasons]struct{ name, text string }{
	ReasonNone:              {"none", "not refused"},
	ReasonShortBTH:          {"short_bth", "shorter than the 12-byte BTH"},
	ReasonVersion:           {"bad_version", "transport header version is not 0"},
	ReasonUnknownOpcode:     {"unknown_opcode", "opcode is not one RoCEv2 carries"},
	ReasonShortHeader:       {"short_header", "shorter than the headers of its opcode"},
	ReasonShortICRC:         {"short_icrc", "no room for the ICRC after the headers"},
	ReasonUnaligned:         {"unaligned_length", "length is not a multiple of 4"},
	ReasonOversize:          {"oversize", "payload is longer than 4096 bytes"},
	ReasonUnexpectedPayload: {"unexpected_payload", "payload after an opcode that carries none"},
	ReasonPad:               {"bad_pad", "pad count is larger than the payload"},
	ReasonAtomicWriteLength: {"atomic_write_length", "payload of an ATOMIC WRITE is not 8 bytes"},
	ReasonSyndrome:          {"reserved_syndrome", "AETH syndrome is of a reserved type"},
	ReasonIPVersion:         {"ip_version", "neither IPv4 nor IPv6"},
	ReasonIPTruncated:       {"ip_truncated", "shorter than its IP and UDP headers say"},
	ReasonIPOptions:         {"ip_options", "IPv4 header not 20 bytes long, or IPv6 extension headers"},
	ReasonIPFragment:        {"ip_fragment", "IP fragment"},
	ReasonNotUDP:            {"not_udp", "not UDP"},
	ReasonUDPLength:         {"udp_length", "UDP length is at odds with the IP length"},
}

// String returns the reason as a counter name, such as "unknown_opcode".
func (r Reason) String() string {
	if int(r) < NumReasons {
		return reasons[r].name
	}
	return "unknown"
}

// DecodeError is the error of [Packet.Decode] and [SeedIP]. There is one value
// for each reason, made in advance, so that hostile packets cost no memory.
// [Explain] gives the same verdict with the values that led to it.
type DecodeError struct {
	Reason Reason
}

// Error says which rule the packet broke.
func (e *DecodeError) Error() string {
	if int(e.Reason) < NumReasons {
		return "bth: packet refused: " + reasons[e.Reason].text
	}
	return "bth: packet refused"
}

// ReasonOf returns the reason carried by an error of [Packet.Decode] or
// [SeedIP], and [ReasonNone] for any other error and for nil. It looks at err
// itself, not at what err wraps.
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
