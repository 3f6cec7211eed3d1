// Package peerlog limits the rate of log lines that peers cause, so that no peer can flood the
// log. Each message has a token bucket per host, which the attribute "peer" names, and one for
// all hosts together. Lines beyond the rate are counted, and reported in one line per [Interval].
//
// A [Limiter] wraps a [slog.Handler]; [Limiter.Logger] returns the loggers. The Limiter's mutex
// guards all buckets and counters.
package peerlog
