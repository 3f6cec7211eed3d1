#!/bin/bash
# usage: siw.sh MODULE NAME
D=/root/lab # folder with the modules and the unpacked kernel package in k-bookworm
for m in libcrc32c iw_cm rdma_cm rdma_ucm ib_uverbs crc32c_generic crc32c_intel; do modprobe $m 2>/dev/null; done
K=$D/k-bookworm/lib/modules/$(uname -r)/kernel
insmod $K/lib/libcrc32c.ko 2>/dev/null; insmod $K/drivers/infiniband/core/iw_cm.ko 2>/dev/null
insmod $D/$1 || { dmesg | tail -5; exit 1; }
ip netns add peer 2>/dev/null
ip link add s0 type veth peer name s1 && ip link set s1 netns peer
ip addr add 10.8.0.1/24 dev s0; ip link set s0 up; ip netns exec peer ip addr add 10.8.0.2/24 dev s1; ip netns exec peer ip link set s1 up; ip netns exec peer ip link set lo up
rdma link add siw0 type siw netdev s0 || dmesg | tail
ip netns exec peer rdma link add siw1 type siw netdev s1 || dmesg | tail
ls /dev/infiniband; rdma link
tcpdump -U -q -s 0 -i s0 -w /tmp/$2.pcap tcp port 7174 or tcp port 18515 2>/dev/null & P=$!
sleep 2
ip netns exec peer timeout 20 rping -s -a 10.8.0.2 -p 7174 -C 3 -S 100 & sleep 2
timeout 15 rping -c -a 10.8.0.2 -p 7174 -C 3 -S 100
sleep 2; wait %2 2>/dev/null
ip netns exec peer timeout 20 rping -s -a 10.8.0.2 -p 7174 -C 1 -S 6000 & sleep 2
timeout 15 rping -c -a 10.8.0.2 -p 7174 -C 1 -S 6000
sleep 2; kill $P; wait $P
rdma link del siw0; rdma link del siw1; ip link del s0; sleep 1; rmmod siw

