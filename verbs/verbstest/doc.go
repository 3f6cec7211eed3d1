// Package verbstest contains helpers for the tests of package verbs: devices on a network in
// memory or on loopback, with a queue pair and a buffer each. Its functions end the test if
// something fails.
package verbstest
