//go:build !linux

// Package capability reports the Linux capabilities of the calling thread (capabilities(7)).
package capability
