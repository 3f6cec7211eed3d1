// Package json writes packets, messages and flows of a trace as JSON, one object per line.
//
// Every object has a member "type": "packet", "message", "flow", "foreign" (a packet of another
// fabric protocol), "series", "latency", "congestion", "pause", "summary" (statistics) or "why"
// (the answer of package why). Header fields have IBA names in lower case ("bth", "reth",
// "dest_qp"), verbs those of rdma-core. [Schema] describes all members.
//
// Numbers that count or order (PSN, QPN, lengths, nanoseconds) are JSON numbers. Numbers that
// identify (addresses, keys, operands of atomics, CRCs) are strings of hexadecimal digits,
// because many JSON parsers round values that do not fit into a float64.
//
// A member that does not apply or is false is absent, unless the schema requires it.
package json
