package machine

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorxe/gorxe/conformance/rxelab/cell"
)

func TestDisturbanceCommands(t *testing.T) {
	l := newLane(nil, 2)
	var got []string
	for _, c := range cell.Conditions() {
		got = append(got, "# "+c.String())
		got = append(got, l.disturbance(c)...)
		l.condition = c
	}
	want := strings.Split(strings.TrimSpace(`
# clean
# loss 1 % to rxe
qdisc add dev d2 root netem limit 20000 loss 1%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# loss 1 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 loss 1%
# loss 5 % to rxe
qdisc del dev v2 root
qdisc add dev d2 root netem limit 20000 loss 5%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# loss 5 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 loss 5%
# reorder 5 % to rxe
qdisc del dev v2 root
qdisc add dev d2 root netem limit 20000 delay 2ms reorder 95%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# reorder 5 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 delay 2ms reorder 95%
# duplicate 5 % to rxe
qdisc del dev v2 root
qdisc add dev d2 root netem limit 20000 duplicate 5%
qdisc add dev v2 ingress
filter add dev v2 ingress protocol all prio 1 matchall action mirred egress redirect dev d2
# duplicate 5 % to gorxe
qdisc del dev v2 ingress
qdisc del dev d2 root
qdisc add dev v2 root netem limit 20000 duplicate 5%`), "\n")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
