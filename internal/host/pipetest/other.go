//go:build !linux

// Package pipetest lets tests do to a pipe what a hostile program can do to its end of one. It
// needs Linux.
package pipetest
