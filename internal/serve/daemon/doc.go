// Package daemon is the RNIC of a host that has none: it opens the devices of a configuration,
// runs what is served on them, lets itself be looked into, and ends in good order.
//
//   - config: what it is to be
//   - control: the Unix socket through which it is looked into
//   - metrics: what Prometheus sees
package daemon
