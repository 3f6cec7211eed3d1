// Package capability reports the Linux capabilities of the calling thread (capabilities(7)).
package capability

import "golang.org/x/sys/unix"

// Effective reports whether the calling thread has an effective capability, such as
// [unix.CAP_NET_RAW].
func Effective(c int) bool {
	h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var d [2]unix.CapUserData
	if err := unix.Capget(&h, &d[0]); err != nil {
		return false
	}
	return d[c/32].Effective&(1<<(c%32)) != 0
}
