// Package cell describes the runs of the lab's matrix as data.
//
// A [Cell] is one run: a kernel, a workload (a tool and its parameters), the role of gorxe, the
// address family and the network condition. A [Group] is a part of the matrix with a separate
// report; [Matrix] returns its cells. The tables of tools are in the files *tools.go. A cell has
// the command lines, the time limit and the expected output of its tools; it runs nothing.
package cell
