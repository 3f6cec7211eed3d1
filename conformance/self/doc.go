// Package self tests the conformance tester: it runs the cases against an endpoint that breaks
// rules on purpose.
//
// The endpoint is a device of package verbs at a network in memory, which implements
// [conformance.Device] for all programs. Between it and the tester stands a [Mutant], which drops,
// changes, delays, repeats and makes packets in both directions, so that the endpoint violates one
// rule. [Run] checks that every case passes without a mutant, that the cases of a mutant detect it,
// and that the cases of unrelated chapters do not.
//
// The mutants are data: one table for each chapter, in mutants_*.go.
package self
