// Package rawcm says to a connection manager, for tests and measurements, what no connection
// manager would say: any message, with any contents, as fast as a link carries it, and without
// listening to the answer.
package rawcm
