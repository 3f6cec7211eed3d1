package session

import "github.com/gorxe/gorxe/verbs"

// QKey is the Q_Key of the datagrams of all tools.
const QKey = 0x11111111

// MaxMessage is the maximum length of a message in bytes.
const MaxMessage = 1<<31 - 1

// HeaderOf returns the number of bytes before the payload of a message received over a service:
// those of a GRH for UD.
func HeaderOf(service verbs.QPType) int {
	if service == verbs.UD {
		return verbs.GRHLen
	}
	return 0
}

// StartDatagrams moves a queue pair of pd to RTS and returns the address handle of its peer.
func (s *Session) StartDatagrams(pd *verbs.PD, q *verbs.QP, psn verbs.PSN, to verbs.GID,
	trafficClass uint8) (*verbs.AH, error) {
	if err := q.StartDatagrams(QKey, psn); err != nil {
		return nil, err
	}
	return pd.CreateAH(verbs.AddressVector{DGID: to, SGIDIndex: uint8(s.GID.Index), TrafficClass: trafficClass})
}
