// Package rxelab runs gorxe against a real Linux: it boots stock Debian kernels with rdma_rxe in virtual machines, lets the
// unmodified tools of rdma-core and perftest talk to gorxe over a pair of network interfaces, disturbs the traffic, and checks
// the ICRC of every packet that was captured.
//
// A cell is one such run: a kernel, a workload (tool and parameters), the role of gorxe, the address family and the condition of
// the network. The cells are data (matrix.go); a machine runs several at a time, each on a lane of its own.
package rxelab
