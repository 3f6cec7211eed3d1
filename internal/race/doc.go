// Package race tells tests whether the race detector is enabled.
package race
