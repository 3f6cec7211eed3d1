# What the daemon may do, and what others may do to it.
pid=$(systemctl show --property MainPID --value gorxe)
grep -q '^CapEff:	0*$' /proc/$pid/status
grep -q '^NoNewPrivs:	1$' /proc/$pid/status
grep -q '^Seccomp:	2$' /proc/$pid/status
test "$(stat -c %U:%a /run/gorxe/control.sock)" = gorxe:660
refused nsenter -t $pid -m touch /etc/gorxe/gorxe.toml
nsenter -t $pid -m -S $(id -u gorxe) touch /var/lib/gorxe/region
useradd mallory
refused runuser -u mallory -- gorxe status
# A daemon that dies is replaced.
kill -KILL $pid
set +x
until test "$(systemctl show --property NRestarts --value gorxe)" = 1 && gorxe status >/dev/null; do sleep 0.1; done 2>/dev/null
set -x
