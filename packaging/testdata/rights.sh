# What the daemon may do, and what others may do to it.
pid=$(systemctl show --property MainPID --value gorxe)
grep -q '^CapEff:	0*$' /proc/$pid/status
grep -q '^NoNewPrivs:	1$' /proc/$pid/status
grep -q '^Seccomp:	2$' /proc/$pid/status
test "$(stat -c %U:%a /run/gorxe/control.sock)" = gorxe:660
refused nsenter -t $pid -m touch /etc/gorxe/gorxe.toml
nsenter -t $pid -m -S $(id -u gorxe) touch /var/lib/gorxe/region
nsenter -t $pid -m -S $(id -u gorxe) touch /dev/shm/region
useradd gorxe-mallory
refused runuser -u gorxe-mallory -- gorxe status
# A daemon that dies is replaced.
kill -KILL $pid
set +x
until test "$(systemctl show --property NRestarts --value gorxe)" = 1 && gorxe status >/dev/null; do sleep 0.1; done 2>/dev/null
set -x
# The socket may be for another group, of which the daemon has to be.
groupadd gorxe-lookers
mkdir -p /etc/systemd/system/gorxe.service.d
cat >/etc/systemd/system/gorxe.service.d/group.conf <<EOF
[Service]
SupplementaryGroups=gorxe-lookers
EOF
sed -i 's/^mode = .*/&\ngroup = "gorxe-lookers"/' /etc/gorxe/gorxe.toml
systemctl daemon-reload
systemctl restart gorxe
test "$(stat -c %G:%a /run/gorxe/control.sock)" = gorxe-lookers:660
