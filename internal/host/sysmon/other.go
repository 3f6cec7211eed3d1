//go:build !linux

// Package sysmon has no effect on systems other than Linux.
package sysmon
