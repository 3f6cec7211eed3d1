package machine

import (
	"context"
	"fmt"
	"strings"

	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

// Apply puts the lane under a condition.
func (l *Lane) Apply(ctx context.Context, c cell.Condition) error {
	if c.String() == l.condition.String() {
		return nil
	}
	// netem must disturb single packets, so the sender's kernel must segment the datagrams of
	// gorxe before.
	if err := l.segmentation(ctx, !c.Direction.Has(cell.ToRxe)); err != nil {
		return err
	}
	if err := l.batch(ctx, l.disturbance(c), "tc"); err != nil {
		return err
	}
	l.condition = c
	return nil
}

// disturbance returns the commands of tc that change the lane's condition.
func (l *Lane) disturbance(c cell.Condition) []string {
	var cmds []string
	if l.condition.Direction.Has(cell.ToGorxe) {
		cmds = append(cmds, fmt.Sprintf("qdisc del dev %s root", l.netdev))
	}
	if l.condition.Direction.Has(cell.ToRxe) {
		cmds = append(cmds, fmt.Sprintf("qdisc del dev %s ingress", l.netdev),
			fmt.Sprintf("qdisc del dev %s root", l.ifb))
	}
	netem := strings.Join(c.QueueDiscipline(), " ")
	if c.Direction.Has(cell.ToGorxe) {
		cmds = append(cmds, fmt.Sprintf("qdisc add dev %s root %s", l.netdev, netem))
	}
	if c.Direction.Has(cell.ToRxe) {
		cmds = append(cmds,
			fmt.Sprintf("qdisc add dev %s root %s", l.ifb, netem),
			fmt.Sprintf("qdisc add dev %s ingress", l.netdev),
			fmt.Sprintf("filter add dev %s ingress protocol all prio 1 matchall action mirred egress redirect dev %s",
				l.netdev, l.ifb))
	}
	return cmds
}

// segmentation sets whether long datagrams of gorxe pass the link unsegmented.
func (l *Lane) segmentation(ctx context.Context, whole bool) error {
	state := map[bool]string{true: "on", false: "off"}[whole]
	_, err := l.Session.RunIn(ctx, l.Netns, "ethtool", "-K", l.peerdev, "tx-udp-segmentation", state)
	return err
}
