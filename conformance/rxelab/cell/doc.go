// Package cell describes the runs of the lab's matrix as data.
//
// A [Cell] is one run: a kernel, a workload (a tool and its parameters), the role of gorxe, the address family and the condition of
// the network. A [Group] is a part of the matrix with a report of its own; [Matrix] returns its cells. The tables of tools are in
// the files *tools.go. A cell knows its command lines, its time limit and what its tools print when they did the whole run; it runs
// nothing.
package cell
