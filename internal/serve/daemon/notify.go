package daemon

import (
	"net"
	"os"
	"strings"
)

// notify sends a state to the service manager, if the manager requested that, as sd_notify(3) does:
// one datagram to the Unix socket named by $NOTIFY_SOCKET, in which "@" means the zero byte of an
// abstract address.
func notify(state string) error {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return nil
	}
	if abstract, ok := strings.CutPrefix(name, "@"); ok {
		name = "\x00" + abstract
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Write([]byte(state))
	return err
}
