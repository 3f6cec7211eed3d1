package fabric

// Field is a header field, formatted.
type Field struct{ Header, Name, Value string }

// Kind is the network that a packet was captured on.
type Kind uint8

const (
	RoCEv2     Kind = iota // UDP port 4791
	RoCEv1                 // EtherType 0x8915 (IBA A16)
	InfiniBand             // InfiniBand link layer (IBA 7)
)

// String returns the name of the fabric, such as "RoCEv1".
func (k Kind) String() string {
	return [...]string{"RoCEv2", "RoCEv1", "InfiniBand"}[min(k, InfiniBand)]
}

// Protocol is a protocol of another fabric, or of pause frames.
type Protocol uint8

const (
	IWARP         Protocol = iota // RFC 5040, RFC 5041, RFC 5044
	UltraEthernet                 // Ultra Ethernet specification 1.0
	PFC                           // priority-based flow control, IEEE 802.1Qbb
	PauseFrame                    // IEEE 802.3, annex 31B

	numProtocols = int(iota)
)

var protocolNames = [numProtocols]string{"iWARP", "Ultra Ethernet", "PFC", "pause"}

// String returns the name of the protocol, such as "iWARP".
func (p Protocol) String() string {
	if int(p) < numProtocols {
		return protocolNames[p]
	}
	return "unknown"
}
