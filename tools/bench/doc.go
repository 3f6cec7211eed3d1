// Package bench measures gorxe beside what its users would otherwise pick: on one path, in one run, in turn. A contest is what
// is measured and by whom, as data; a run makes two hosts out of network namespaces, plays every contest once a round, in
// another order each, and keeps every measurement with the load of the machine at that time. Reports are made of what was kept.
package bench
