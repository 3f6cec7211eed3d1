// Package testnet makes hosts for tests from Linux network namespaces, which requires root;
// without root it skips the test. A [Listener] is in memory and needs no privileges.
package testnet
