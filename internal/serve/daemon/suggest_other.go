//go:build !linux

package daemon

func defaultRoutes() []string { return nil }
