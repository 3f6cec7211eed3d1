// Package peerlog bounds the rate of the log lines that peers cause, so that no peer fills the log.
// Each message has a token bucket for each host, which the attribute "peer" names, and one for all
// hosts together. Lines that find a bucket empty are counted, and reported in one line every
// [Interval].
package peerlog
