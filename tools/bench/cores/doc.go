// Package cores chooses the processor cores that the two ends of a measurement are bound to.
package cores
