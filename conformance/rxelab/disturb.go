package rxelab

import (
	"context"
	"fmt"
	"strings"
)

// apply puts the lane under a condition.
func (l *lane) apply(ctx context.Context, c Condition) error {
	if c.String() == l.condition.String() {
		return nil
	}
	// Where packets are disturbed one by one they have to be one by one: the sender's kernel cuts what gorxe hands it in one piece.
	if err := l.segmentation(ctx, !c.Direction.has(ToRxe)); err != nil {
		return err
	}
	if err := l.batch(ctx, l.disturbance(c), "tc"); err != nil {
		return err
	}
	l.condition = c
	return nil
}

// disturbance lists the commands of tc that change the lane's condition.
func (l *lane) disturbance(c Condition) []string {
	var cmds []string
	if l.condition.Direction.has(ToGorxe) {
		cmds = append(cmds, fmt.Sprintf("qdisc del dev %s root", l.netdev))
	}
	if l.condition.Direction.has(ToRxe) {
		cmds = append(cmds, fmt.Sprintf("qdisc del dev %s ingress", l.netdev), fmt.Sprintf("qdisc del dev %s root", l.ifb))
	}
	netem := strings.Join(c.netem(), " ")
	if c.Direction.has(ToGorxe) {
		cmds = append(cmds, fmt.Sprintf("qdisc add dev %s root %s", l.netdev, netem))
	}
	if c.Direction.has(ToRxe) {
		cmds = append(cmds,
			fmt.Sprintf("qdisc add dev %s root %s", l.ifb, netem),
			fmt.Sprintf("qdisc add dev %s ingress", l.netdev),
			fmt.Sprintf("filter add dev %s ingress protocol all prio 1 matchall action mirred egress redirect dev %s", l.netdev, l.ifb))
	}
	return cmds
}

// segmentation says whether long datagrams of gorxe pass the link in one piece.
func (l *lane) segmentation(ctx context.Context, whole bool) error {
	state := map[bool]string{true: "on", false: "off"}[whole]
	_, err := l.s.RunIn(ctx, l.netns, "ethtool", "-K", l.peerdev, "tx-udp-segmentation", state)
	return err
}
