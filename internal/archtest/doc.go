// Package archtest checks rules of the source tree that the compiler does not enforce: which
// package may import which, what a pure package must not use, and how long a file may get. It
// contains only tests, which read the source.
package archtest
