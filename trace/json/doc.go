// Package json writes packets, messages and flows of a trace as JSON, one object a line.
//
// Every object has a member "type": "packet", "message" or "flow". Headers have the names of the IBA in small letters ("bth", "reth",
// "dest_qp"), verbs those of rdma-core. [Schema] describes all of it.
//
// Numbers that count or order something (PSN, QPN, lengths, nanoseconds) are JSON numbers. Numbers that only name something
// (addresses, keys, the operands of atomics, CRCs) are strings of hexadecimal digits, because readers of JSON commonly round what
// does not fit in a float64.
//
// A member that does not apply is absent, and false is absent too where the schema does not require it.
package json
