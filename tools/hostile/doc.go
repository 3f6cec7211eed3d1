// Package hostile floods a live device with what no well-behaved peer sends, and measures what is
// left for a pair of queue pairs that behaves.
//
// A [Pattern] is data: its name, what is wrong with it, and a function that makes its i-th packet.
// Its packets come from a stranger (no queue pair), from a peer with queue pairs and keys of its
// own, which it abuses, or under another host's address.
//
// [Run] makes a victim, a good peer and a flooder, each a process of its own, the flooder on the
// good peer's core. As root each is a host: a network namespace at one bridge. Without root all are
// on loopback, and patterns that need another host's address at the wire are sent all the same,
// because any process may send from any address of 127/8. A round measures the good pair three
// times: alone; beside a control, which is the same flood to a port of the victim's host that
// nobody listens on; and beside the pattern. The ratio that counts is pattern to control: the
// control takes the processor time of flooding and of the host's receive path away, and nothing
// else. Where a pattern begins with requests that are legal, as its duplicates of a READ need one,
// the control begins with them too.
//
//	make hostile RUN=read DURATION=2s
package hostile
