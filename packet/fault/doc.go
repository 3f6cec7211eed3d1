// Package fault wraps a link and injects faults: it drops, duplicates, reorders, delays,
// corrupts and ECN-marks frames, controlled by a seed.
package fault
