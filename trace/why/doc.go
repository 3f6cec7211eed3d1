// Package why leads from a line of a log about a failed work request to the flow of a capture and
// the cause.
//
//	Parse      reads a line of NCCL, UCX, perftest, rdma-core, Open MPI, the kernel or gorxe
//	Complaint  is what the line says: queue pairs, addresses, status of the work completion
//	Collector  is an Output of a Pipeline that collects what explains a Complaint
//	Answer     has the flows that match, and for each the cause and the frames that show it
//
// A Collector follows up to maxRecords flows, with up to maxKept findings and messages of each.
package why
