//go:build !linux

// Package pipetest lets tests do what a hostile program can do to its end of a pipe. It needs
// Linux.
package pipetest
