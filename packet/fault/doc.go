// Package fault injects faults into the frames of a link: it drops, repeats, reorders, delays, corrupts and marks them,
// as a seed decides.
package fault
