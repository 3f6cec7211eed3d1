// Package testnet makes hosts for tests out of Linux network namespaces. It takes root; a
// test without it is skipped, and says so. A [Listener] is in memory and needs none.
package testnet
