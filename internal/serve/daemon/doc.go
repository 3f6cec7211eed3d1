// Package daemon is the daemon that acts as the RNIC of a host without one. [Run] opens the
// devices of a [Plan], starts the services on them (each a [Part]), serves the control socket and
// the metrics, and drains connections when it stops.
//
//   - config: options from the configuration file and flags
//   - control: HTTP API on the Unix socket for diagnostics
//   - metrics: metrics for Prometheus
//   - peerlog: rate limit of log lines that peers cause
package daemon
