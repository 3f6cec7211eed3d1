//go:build !linux

// Package sysmon has effect on Linux only.
package sysmon
