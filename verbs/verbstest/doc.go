// Package verbstest has what the tests of package verbs share: devices on a network in memory or on loopback, with a
// queue pair and a buffer each. Its functions end the test where something fails.
package verbstest
