package xdp

// Options are the choices there are for [Listen]. The zero value is the best that kernel and driver can do. All links on
// one network interface share how its first one was opened.
type Options struct {
	// Generic lets frames be taken where the host's stack begins although the driver could give them earlier.
	Generic bool
	// Copy lets the kernel copy frames although the driver could do without.
	Copy bool
	// SingleBuffer keeps frames to one buffer of 4096 bytes although the kernel could join several.
	SingleBuffer bool
}
