//go:build !linux

// Package capability tells which capabilities of Linux a process has (capabilities(7)).
package capability
