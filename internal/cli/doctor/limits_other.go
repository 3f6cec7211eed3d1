//go:build !linux

package doctor

func kernel() string { return "" }

func limits() []Finding { return nil }
