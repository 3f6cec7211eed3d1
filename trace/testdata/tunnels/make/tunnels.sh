#!/bin/bash
# Makes the captures of Linux tunnels beside this folder: a veth pair joins the network namespaces near
# and far; replay.py sends the packets of in/four.pcap and in/six.pcap (inside4 and inside6, unpacked)
# into a tunnel, tcpdump captures on the far end. Run as root in an empty machine (the lab's Debian 12
# VM, kernel 6.1) with the modules vxlan, geneve, ip_gre, ip6_gre, ipip, sit, ip6_tunnel, mpls_router,
# mpls_iptunnel, veth, 8021q, sch_ingress, cls_matchall and act_mirred.
# usage: tunnels.sh [NAMESPACED]
D=$(cd "$(dirname "$0")" && pwd); OUT=${OUT:-/tmp/out}; mkdir -p "$OUT"; cd "$D"
if [ -z "$1" ]; then
  ip netns add far; ip netns add near
  exec ip netns exec near bash "$0" namespaced
fi
ip link set lo up
ip link add v0 type veth peer name v1 netns far
ip link set v0 mtu 9000 up; ip addr add 10.9.0.1/24 dev v0; ip addr add fd09::1/64 dev v0 nodad
ip netns exec far ip link set v1 mtu 9000 up; ip netns exec far ip link set lo up
ip netns exec far ip addr add 10.9.0.2/24 dev v1; ip netns exec far ip addr add fd09::2/64 dev v1 nodad

start() { ip netns exec far tcpdump -U -q -i v1 -w $OUT/$1.pcap "${@:2}" 2>/dev/null & P=$!; sleep 1.5; }
stop() { sleep 1; kill $P; wait $P 2>/dev/null; }
tun() { # NAME FILE MODE TYPE ARGS...
  n=$1; f=$2; m=$3; shift 3
  ip link add t0 type "$@" || { echo "FAIL $n"; return; }
  ip link set t0 mtu 8000; sysctl -qw net.ipv6.conf.t0.disable_ipv6=1; ip link set t0 up
  start $n "not icmp6"; python3 replay.py in/$f.pcap t0 $m || echo "REPLAY $n"; stop
  ip link del t0
}
L="local 10.9.0.1 remote 10.9.0.2"; L6="local fd09::1 remote fd09::2"
tun vxlan four l2 vxlan id 100 $L dstport 4789 dev v0
tun vxlan_8472 four l2 vxlan id 101 $L dstport 8472 dev v0
tun vxlan6 six l2 vxlan id 0xabcdef $L6 dstport 4789 dev v0
tun geneve four l2 geneve id 200 remote 10.9.0.2
tun geneve6 six l2 geneve id 201 remote fd09::2
tun gre four l3 gre $L
tun gre_csum_key_seq four l3 gre $L key 7 ikey 7 csum seq
tun gretap four l2 gretap $L
tun nvgre four l2 gretap $L key 5121
tun ip6gretap four l2 ip6gretap $L6
tun erspan1 four l2 erspan $L erspan_ver 0
tun erspan2 four l2 erspan seq key 5 $L erspan_ver 1 erspan 123
tun erspan3 four l2 erspan seq key 6 $L erspan_ver 2 erspan_dir egress erspan_hwid 7
tun ip6erspan2 six l2 ip6erspan seq key 8 $L6 erspan_ver 1 erspan 9
tun ipip four l3 ipip $L
tun sit six l3 sit $L mode any
tun ip4ip6 four raw ip6tnl $L6 mode any
tun ip6ip6 six raw ip6tnl $L6 mode any
# A mirror with a small MTU truncates the frames and sets T.
for v in "erspan2_cut erspan_ver 1 erspan 44" "erspan3_cut erspan_ver 2 erspan_dir ingress erspan_hwid 3"; do set -- $v; n=$1; shift
  ip link add t0 type erspan seq key 9 $L $@; ip link set t0 mtu 200; sysctl -qw net.ipv6.conf.t0.disable_ipv6=1; ip link set t0 up
  ip link add w0 type veth peer name w1; sysctl -qw net.ipv6.conf.w0.disable_ipv6=1 net.ipv6.conf.w1.disable_ipv6=1; ip link set w0 up mtu 9000; ip link set w1 up mtu 9000
  tc qdisc add dev w0 ingress; tc filter add dev w0 ingress matchall action mirred egress mirror dev t0
  start $n "not icmp6"; python3 replay.py in/four.pcap w1 l2; stop
  ip link del w0; ip link del t0
done
# VXLAN in VXLAN, with VLAN tags inside, in a VLAN.
ip link add link v0 name v0.7 type vlan id 7; ip link set v0.7 up; ip addr add 10.10.0.1/24 dev v0.7
ip netns exec far ip link add link v1 name v1.7 type vlan id 7; ip netns exec far ip link set v1.7 up; ip netns exec far ip addr add 10.10.0.2/24 dev v1.7

ip link add t1 type vxlan id 300 local 10.10.0.1 remote 10.10.0.2 dstport 4789 dev v0.7; sysctl -qw net.ipv6.conf.t1.disable_ipv6=1; ip link set t1 mtu 8800 up; ip addr add 10.11.0.1/24 dev t1
ip neigh add 10.11.0.2 lladdr 02:00:00:00:00:22 dev t1
ip link add t0 type geneve id 301 remote 10.11.0.2; sysctl -qw net.ipv6.conf.t0.disable_ipv6=1; ip link set t0 mtu 8000 up
ip link add link t0 name t0.9 type vlan id 9; sysctl -qw net.ipv6.conf.t0/9.disable_ipv6=1; ip link set t0.9 up
start nested "not icmp6"; python3 replay.py in/four.pcap t0.9 l2; stop
ip link del t0; ip link del t1
# MPLS: routed with two labels, and an Ethernet pseudowire is not in Linux.
modprobe mpls_iptunnel; sysctl -qw net.mpls.platform_labels=1000 net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0
ip link add w0 type veth peer name w1; sysctl -qw net.ipv6.conf.w0.disable_ipv6=1 net.ipv6.conf.w1.disable_ipv6=1 net.ipv4.conf.w0.rp_filter=0; ip link set w0 up mtu 9000; ip link set w1 up mtu 9000
ip route add 198.18.0.3/32 encap mpls 100/200 via 10.9.0.2 dev v0; true
ip route add 198.18.0.2/32 encap mpls 300 via 10.9.0.2 dev v0
start mpls "not icmp6"; python3 replay.py in/four.pcap w1 l2 $(cat /sys/class/net/w0/address); stop
ip route del 198.18.0.3/32; ip route del 198.18.0.2/32
