package pingpong

import (
	"net"

	"github.com/gorxe/gorxe/internal/serve/exchange"
)

// Step is one step of an exchange.
type Step uint8

// Steps, as seen by the end that performs them.
const (
	SendDest Step = iota
	ReceiveDest
	Connect // move the queue pair to RTR and RTS with the received address
	SendDone
	ReceiveDone
)

// String names the step.
func (s Step) String() string {
	return [...]string{"send destination", "receive destination", "connect", "send done", "receive done"}[s]
}

// Script returns the steps of one end in order. A server is ready to receive before the client
// learns its address.
func Script(role exchange.Role) []Step {
	if role == exchange.Client {
		return []Step{SendDest, ReceiveDest, SendDone, Connect}
	}
	return []Step{ReceiveDest, Connect, SendDest, ReceiveDone}
}

// SRQRecords is the number of addresses that each end of ibv_srq_pingpong sends; a zero Dest stands
// for a queue pair that does not exist.
const SRQRecords = 256

// Drive performs the exchange of one end over conn and returns the peer's addresses, as many as
// this end sends. connect is called at the Connect step. The connection is left open; neither end
// needs it afterwards.
func Drive(conn net.Conn, role exchange.Role, local []Dest,
	connect func(remote []Dest) error) (remote []Dest, err error) {
	for _, step := range Script(role) {
		switch step {
		case SendDest:
			err = sendAll(conn, local)
		case ReceiveDest:
			remote, err = receiveAll(conn, len(local))
		case Connect:
			err = connect(remote)
		case SendDone:
			err = exchange.WriteItem(conn, "done", []byte(Done))
		case ReceiveDone:
			err = exchange.ReadItem(conn, "done", make([]byte, len(Done)))
		}
		if err != nil {
			return remote, err
		}
	}
	return remote, nil
}

func sendAll(conn net.Conn, local []Dest) error {
	for _, d := range local {
		if err := exchange.WriteItem(conn, "local address", d.Append(nil)); err != nil {
			return err
		}
	}
	return nil
}

func receiveAll(conn net.Conn, n int) ([]Dest, error) {
	remote := make([]Dest, n)
	for i := range remote {
		var b [Len]byte
		if err := exchange.ReadItem(conn, "remote address", b[:]); err != nil {
			return nil, err
		}
		if err := remote[i].Decode(b[:]); err != nil {
			return nil, &exchange.ItemError{Item: "remote address", Op: "decode", Err: err}
		}
	}
	return remote, nil
}
