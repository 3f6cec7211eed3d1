# A host with a default route, another host, and a user who may do nothing in particular.
mkdir /run/netns
ip netns add peer
ip link set lo up
ip link add eth0 type veth peer name eth0 netns peer
ip addr add 192.0.2.1/24 dev eth0
ip link set eth0 up
ip -n peer addr add 192.0.2.2/24 dev eth0
ip -n peer link set eth0 up
ip route add default via 192.0.2.2
useradd gorxe-alice
trap 'test $? = 0 || journalctl --no-pager -n 60' EXIT
# What must not succeed; the shell does not heed the result of "!".
refused() { if "$@"; then exit 1; fi; }
