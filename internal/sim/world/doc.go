// Package world is what a scenario is played in: a clock that is a number, the events to come, and
// links that carry IP datagrams with a real ICRC and lose, repeat, reorder, delay and corrupt them.
package world
