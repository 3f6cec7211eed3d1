// Package rxelab runs gorxe against a real Linux: it boots stock Debian kernels with rdma_rxe in virtual machines, lets the
// unmodified tools of rdma-core and perftest talk to gorxe over a pair of network interfaces, disturbs the traffic, and checks
// the ICRC of every packet that was captured.
//
// A cell is one such run: a kernel, a workload (tool and parameters), the role of gorxe, the address family and the condition of
// the network. The cells are data, in package cell; a machine (package machine) runs several at a time, each on a lane of its
// own; package report has what came of them. This package is the lab that takes the cells from a queue, runs each and decides
// whether it passed.
//
// Packages soak and rival use the same machines for other purposes, and pair the same workloads without a machine.
package rxelab
