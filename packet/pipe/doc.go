// Package pipe provides a network in memory ([Net]) and its links, for tests and
// demonstrations.
package pipe
