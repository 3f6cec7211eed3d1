//go:build !linux || !(amd64 || arm64)

package softlimit

func read() uint64 { return 0 }
