// Package pipe has links of a network in memory, for tests and demonstrations.
package pipe
