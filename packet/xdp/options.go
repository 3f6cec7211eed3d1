package xdp

// Options are the options of [Listen]. The zero value selects the best mode that kernel and driver
// support. All links on a network interface use the options of the link that was opened first.
type Options struct {
	// Generic attaches the XDP program in generic mode even if the driver supports native mode.
	Generic bool
	// Copy selects copy mode even if the driver supports zero-copy.
	Copy bool
	// SingleBuffer limits frames to one buffer of 4096 bytes even if the kernel supports
	// several.
	SingleBuffer bool
}
