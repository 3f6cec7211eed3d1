// Package world simulates time and the network for a scenario: a virtual clock with an event
// queue, and links that carry IP datagrams with a real ICRC and drop, duplicate, reorder, delay
// or corrupt them.
package world
