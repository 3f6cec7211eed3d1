// Package cmsg encodes and decodes the messages of the communication manager (IBA chapter 12) for
// the conformance tester: a [MAD] is 256 bytes, and a [Field] names some of its bits. Any field can
// have any value, also an illegal one.
//
// The package shares nothing with gorxe's connection manager.
package cmsg
