// Package archtest holds the rules of the source tree that the compiler does not
// enforce: which package may import which, what a pure package must not touch, and
// how long a file may get. It has no code of its own; its tests read the source.
package archtest
