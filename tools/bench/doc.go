// Package bench compares the performance of gorxe with that of alternatives, on one path and in
// one run.
//
// A [Contest] describes as data what is measured and the [Contender]s that are compared. A run
// creates two hosts from network namespaces (type ground), connected by a veth pair. In each
// round it measures every contender of every contest once, in rotating order, and records each
// measurement ([Sample]) with the load of the machine at that time. The [Report] holds all
// samples; pages and charts are made from it. [RunInSlices] measures two contenders at the same
// time instead, in alternating slices of time.
//
// Loss is injected at the receiver (--fault-in), because tc netem on a veth pair drops whole GSO
// trains. The namespaces have no names and end with the processes in them, and these end with the
// thread that started them, so SIGKILL leaves neither behind. All processes of an end share its
// cores: the program, gorxe run and the daemon; the processor time of a daemon is added to that
// of its end. If both ends are on one host, one daemon serves both and its processor time is
// reported separately.
package bench
