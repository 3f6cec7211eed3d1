# boot.sh DIR: systemd runs DIR/tryout.service on a copy of this host, with processes, network,
# cgroups and files of its own, and ends with the service. Wants a mount namespace of its own.
# Ends with 77 where the kernel does not give that.
dir=$1 m=/mnt
mount --make-rprivate /
mount -t tmpfs tmpfs $m &&
	mkdir $m/cgroup $m/upper $m/work $m/root &&
	mount -t overlay -o lowerdir=/,upperdir=$m/upper,workdir=$m/work overlay $m/root &&
	mount -t cgroup2 cgroup2 $m/cgroup &&
	group=$m/cgroup/gorxe-tryout.$$ &&
	mkdir $group &&
	echo $$ >$group/cgroup.procs || exit 77

status=0
unshare --cgroup --mount --pid --net --uts --ipc --fork --kill-child sh -eu -c '
	dir=$1
	cd /mnt/root
	mount -t proc proc proc
	mount --bind proc/sys proc/sys
	mount -o remount,bind,ro proc/sys
	mount -t sysfs -o ro sysfs sys
	mount -t cgroup2 cgroup2 sys/fs/cgroup
	mount -t tmpfs -o mode=755 tmpfs run
	mount -t tmpfs -o mode=755 tmpfs dev
	for d in null zero full random urandom tty; do
		touch dev/$d
		mount --bind /dev/$d dev/$d
	done
	ln -s pts/ptmx dev/ptmx
	mkdir -p dev/shm dev/pts run/tryout
	mount -t tmpfs -o mode=1777 tmpfs dev/shm
	mount --bind "$dir" run/tryout

	# Of the services of this host, those that log.
	rm -rf etc/systemd/system etc/fstab usr/lib/systemd/system-generators usr/lib/systemd/system/*.target.wants/[!s]* \
		usr/lib/systemd/system/sysinit.target.wants usr/lib/systemd/system/local-fs.target.wants
	find usr/lib/systemd/system/sockets.target.wants -type l ! -name "systemd-journald*" -delete
	mkdir -p etc/systemd/system run/systemd/system
	cp "$dir/tryout.service" run/systemd/system

	pivot_root . mnt
	umount -l /mnt
	exec env -i container=gorxe /lib/systemd/systemd --system --unit=tryout.service --show-status=no --log-target=journal --log-level=info
' boot "$dir" || status=$?

echo $$ >$m/cgroup/cgroup.procs || exit $status
for i in $(seq 100); do # what was killed may not be gone yet
	find $group -depth -type d -exec rmdir {} + 2>/dev/null && break
	sleep 0.1
done
exit $status
