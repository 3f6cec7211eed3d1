package mad

import "fmt"

// CommID is a communication ID: the number that one side assigns to a connection, or to a request
// for a service ID. In a message, the local ID is that of the sender of the message, the remote ID
// that of its receiver.
type CommID uint32

// GUID identifies a channel adapter. Together with a communication ID or a queue pair number of
// that adapter it identifies a connection globally.
type GUID uint64

// String returns the GUID in the format of rdma-core, such as "5054:00ff:fe00:0002".
func (g GUID) String() string {
	return fmt.Sprintf("%04x:%04x:%04x:%04x", uint16(g>>48), uint16(g>>32), uint16(g>>16), uint16(g))
}

// MessageType is the message that a REJ or an MRA answers.
type MessageType uint8

const (
	MessageREQ   MessageType = 0
	MessageREP   MessageType = 1
	MessageOther MessageType = 2 // in a REJ: no message, for example after a timeout; in an MRA: LAP
)

// String returns the message's name.
func (a MessageType) String() string {
	switch a {
	case MessageREQ:
		return "REQ"
	case MessageREP:
		return "REP"
	case MessageOther:
		return "other"
	}
	return "reserved"
}
