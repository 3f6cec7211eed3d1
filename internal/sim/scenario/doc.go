// Package scenario describes what happens in a simulated run, as data: the nodes, the links and
// their faults, the connections and what their programs do when. [Generate] and [Simple] draw one
// from a seed.
package scenario
