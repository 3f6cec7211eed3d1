package cli

import "github.com/gorxe/gorxe"

// toolQKey is the Q_Key of every tool's datagrams.
const toolQKey = 0x11111111

// headerOf is how many bytes stand in front of a message that is received over a service.
func headerOf(service gorxe.QPType) int {
	if service == gorxe.UD {
		return gorxe.GRHLen
	}
	return 0
}

// datagrams moves a queue pair of pd to RTS and makes the way to its peer.
func (s *session) datagrams(pd *gorxe.PD, q *gorxe.QP, psn gorxe.PSN, to gorxe.GID, trafficClass uint8) (*gorxe.AH, error) {
	if err := q.StartDatagrams(toolQKey, psn); err != nil {
		return nil, err
	}
	return pd.CreateAH(gorxe.AddressVector{DGID: to, SGIDIndex: uint8(s.gid.Index), TrafficClass: trafficClass})
}
