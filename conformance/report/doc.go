// Package report writes the results of the conformance tester: as text, JSON, JUnit XML, Markdown,
// one HTML page, and a badge. [New] makes a [Report] of the results of a run. JSON contains
// everything that the other formats need, so that [Read] makes a matrix of saved runs possible.
//
// Package trace explains the packets of a case: the report has them as an annotated pcapng and as a
// ladder. Everything that a device sent is untrusted. The package limits its length, and writes it
// in a form that terminals, Markdown and browsers do not interpret.
package report
