// Package rawcm sends arbitrary messages to a connection manager, for tests and measurements:
// messages that no connection manager would send, as fast as a link carries them, and without
// waiting for answers. A [Peer] is the sender.
package rawcm
