//go:build !amd64 || purego

package bth

import "hash/crc32"

const canFold = false

func updateFolded(crc uint32, b []byte) uint32 { return crc32.Update(crc, crc32.IEEETable, b) }

func updateFoldedHeaders(crc uint32, headers, b []byte) (uint32, bool) { return 0, false }
