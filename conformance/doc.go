// Package conformance tests whether a RoCEv2 endpoint keeps the rules of the InfiniBand
// Architecture Specification (IBA): volume 1, chapters 9 and 12, and annexes A17 (RoCEv2) and A19
// (FLUSH and ATOMIC WRITE).
//
// The device under test runs nothing but stock programs, such as ibv_rc_pingpong or ib_write_bw. A
// [Case] states one rule. Its script connects to such a program, sends packets, also illegal ones,
// and judges the replies. [Runner] runs cases; package conformance/cases has them, and package
// conformance/report writes the results.
//
//	for _, r := range (&conformance.Runner{Device: d, Link: l}).Run(ctx, cases.All()) {
//		fmt.Println(r.Case.ID, r.Verdict, r.Detail)
//	}
//
// The tester shares only the codec of package bth with gorxe: nothing that it sends or judges
// passes through gorxe's transport or links. Sub-package rxelab is not part of the tester: it is
// gorxe's own laboratory with Linux rxe in a virtual machine.
package conformance
