package mad

import "strconv"

// Attribute is the attribute ID of a MAD of the class CM: the type of the message.
type Attribute uint16

const (
	AttrREQ     Attribute = 0x10 // request for communication
	AttrMRA     Attribute = 0x11 // message receipt acknowledgment
	AttrREJ     Attribute = 0x12 // reject
	AttrREP     Attribute = 0x13 // reply to a request for communication
	AttrRTU     Attribute = 0x14 // ready to use
	AttrDREQ    Attribute = 0x15 // request for communication release
	AttrDREP    Attribute = 0x16 // reply to a request for communication release
	AttrSIDRREQ Attribute = 0x17 // service ID resolution request
	AttrSIDRREP Attribute = 0x18 // service ID resolution reply
	AttrLAP     Attribute = 0x19 // load alternate path
	AttrAPR     Attribute = 0x1a // alternate path response
)

var attributeNames = [...]string{"REQ", "MRA", "REJ", "REP", "RTU", "DREQ", "DREP", "SIDR_REQ", "SIDR_REP",
	"LAP", "APR"}

// Valid reports whether the attribute is that of a CM message.
func (a Attribute) Valid() bool { return a >= AttrREQ && a <= AttrAPR }

// String returns the message's name, such as "SIDR_REQ".
func (a Attribute) String() string {
	if a.Valid() {
		return attributeNames[a-AttrREQ]
	}
	return "attribute 0x" + strconv.FormatUint(uint64(a), 16)
}

// Index returns the index of the message in an array of all CM messages: 0 for REQ, 10 for APR.
func (a Attribute) Index() int { return int(a - AttrREQ) }
