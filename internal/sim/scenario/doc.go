// Package scenario describes a simulated run as data: the nodes, the links and their faults, the
// connections, and the acts of their programs. [Generate] and [Simple] draw a [Scenario] from a
// seed.
package scenario
