// Package netns identifies the network namespace of this process.
package netns

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// ID returns the number of the network namespace of this process, such as "4026531840": the inode
// that 'readlink /proc/self/ns/net' prints. No two existing namespaces have the same number. On
// systems without network namespaces it returns "".
//
// Source: namespaces(7).
func ID() (string, error) {
	if runtime.GOOS != "linux" {
		return "", nil
	}
	const name = "/proc/self/ns/net"
	link, err := os.Readlink(name)
	if err != nil {
		return "", fmt.Errorf("network namespace of this process: %w", err)
	}
	id, ok := strings.CutPrefix(link, "net:[")
	id, closed := strings.CutSuffix(id, "]")
	if !ok || !closed {
		return "", fmt.Errorf("network namespace of this process: %s is a link to %q", name, link)
	}
	return id, nil
}
