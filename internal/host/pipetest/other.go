//go:build !linux

// Package pipetest does to pipes, in tests, what a hostile program can do to its end of one, on Linux.
package pipetest
