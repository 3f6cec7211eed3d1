//go:build !unix

package textfile

const openFlags = 0
