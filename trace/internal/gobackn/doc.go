// Package gobackn simulates connections of the Reliable Connection service that share a lossy
// network with a capture point in the middle, and records the truth about each captured packet:
// whether it is a retransmission, which event caused that, what was lost before and behind the
// capture point, and what the network copied or reordered. Tests compare it with what a
// trace.Analyzer derives from the capture.
//
// The simulation follows the InfiniBand Architecture Specification, volume 1, chapter 9 (go-back-N,
// sequence NAK once per gap, RNR NAK, implied NAK, duplicate requests, acknowledge timer), with
// variants where Linux rxe (drivers/infiniband/sw/rxe/rxe_req.c, rxe_comp.c, rxe_resp.c) and
// hardware differ. It shares no code with the Analyzer, with package transport or with the model of
// internal/sim: of gorxe it uses only package bth.
//
// The same [Config] always gives the same [Result].
package gobackn
