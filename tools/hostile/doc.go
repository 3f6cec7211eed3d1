// Package hostile floods a live device with packets that no well-behaved peer sends, and measures
// how much throughput a well-behaved pair of queue pairs keeps.
//
// A [Pattern] is data: its name, a description, and a function that makes its i-th packet. Its
// packets come from a stranger (without a queue pair), from a peer with its own queue pairs and
// keys, which it abuses, or from a forged source address.
//
// [Run] makes a victim, a good peer and a flooder, each in a separate process, the flooder on the
// good peer's core. As root each is a host: a network namespace at one bridge. Without root all
// are on loopback. There, too, patterns with forged source addresses run, because any process may
// send from any address of 127/8. A round measures the good pair three times: alone; during a
// control, which is the same flood to a closed port of the victim's host; and during the pattern.
// The relevant ratio is pattern to control: the control has only the cost of flooding and of the
// host's receive path. If a pattern begins with legal requests, such as the READ that it then
// duplicates, the control begins with them too.
//
//	make hostile RUN=read DURATION=2s
package hostile
