// Package device connects the conformance tester to stock programs of the device under test: it
// starts them with a command of the user, or waits until the user has started them, and performs
// their handshakes.
package device
