# Runs a program of an unpacked Debian release: sh enter.sh ROOT NEW PROGRAM [ARGUMENT...]. In a mount namespace of its
# own it makes the empty directory NEW the program's root: the directories of ROOT, the host's /dev, /proc, /sys, /run
# and /tmp, and as /mnt the working directory. ROOT itself is not changed.
set -e
root=$1 new=$2
shift 2
mount -t tmpfs tmpfs "$new"
for d in "$root"/*; do
	name=${d##*/}
	if [ -L "$d" ]; then
		cp -P "$d" "$new/$name"
	elif [ -d "$d" ]; then
		mkdir "$new/$name"
		mount --rbind "$d" "$new/$name"
	fi
done
for name in dev proc sys run tmp mnt; do
	mkdir -p "$new/$name"
done
for name in dev proc sys run tmp; do
	mount --rbind "/$name" "$new/$name"
done
mount --bind . "$new/mnt"
TMPDIR=/tmp exec chroot "$new" "$@"
