// Package rxelab runs gorxe against real Linux kernels: it boots stock Debian kernels with
// rdma_rxe in virtual machines, runs the unmodified tools of rdma-core and perftest against gorxe
// over a pair of network interfaces, disturbs the traffic, and checks the ICRC of every captured
// packet.
//
// A cell is one such run: a kernel, a workload (tool and parameters), the role of gorxe, the
// address family and the network condition. Package cell holds the cells as data. Package machine
// runs several cells at a time, each on a separate lane of a virtual machine. Package report
// holds the results. This package is the lab: [Run] takes the cells from a queue, runs each and
// decides whether it passed. One goroutine serves each lane; a lock in the runner gives a cell
// the machine for itself.
//
// Packages soak and rival use the same machines for other purposes, and package pair runs the
// same workloads without a machine.
package rxelab
