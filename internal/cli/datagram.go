package cli

import "github.com/gorxe/gorxe/verbs"

// toolQKey is the Q_Key of every tool's datagrams.
const toolQKey = 0x11111111

// maxMessage is the length of the longest message, in bytes.
const maxMessage = 1<<31 - 1

// headerOf is how many bytes stand in front of a message that is received over a service.
func headerOf(service verbs.QPType) int {
	if service == verbs.UD {
		return verbs.GRHLen
	}
	return 0
}

// datagrams moves a queue pair of pd to RTS and makes the way to its peer.
func (s *session) datagrams(pd *verbs.PD, q *verbs.QP, psn verbs.PSN, to verbs.GID, trafficClass uint8) (*verbs.AH, error) {
	if err := q.StartDatagrams(toolQKey, psn); err != nil {
		return nil, err
	}
	return pd.CreateAH(verbs.AddressVector{DGID: to, SGIDIndex: uint8(s.gid.Index), TrafficClass: trafficClass})
}
