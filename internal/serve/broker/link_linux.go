package broker

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A link is one end of a connection. One goroutine receives; any may send.
type link struct {
	conn        *net.UnixConn
	server      bool // this end is the server
	sendTimeout time.Duration

	sending sync.Mutex
	out     []byte // guarded by sending
	in      []byte // used by the receiving goroutine
	oob     []byte // likewise
}

// network is the type of the sockets: it preserves message boundaries and reports the end of a
// connection.
const network = "unixpacket"

func newLink(conn *net.UnixConn, server bool, sendTimeout time.Duration) *link {
	longest := maxFrame
	if server {
		longest = headerSize + MaxWrite
	}
	// One byte more than the longest message detects a longer one.
	return &link{
		conn: conn, server: server, sendTimeout: sendTimeout,
		in: make([]byte, longest+1), oob: make([]byte, unix.CmsgSpace(4*maxFiles)),
	}
}

// send sends a message with duplicates of the descriptors files. After an error the connection is
// unusable; if the other end has closed it, the error wraps io.EOF and the kernel's error.
func (l *link) send(f *frame, files ...int) error {
	var oob []byte
	if len(files) > 0 {
		oob = unix.UnixRights(files...)
	}
	l.sending.Lock()
	defer l.sending.Unlock()
	l.out = f.appendTo(l.out[:0])
	if err := l.conn.SetWriteDeadline(time.Now().Add(l.sendTimeout)); err != nil {
		return err
	}
	n, _, err := l.conn.WriteMsgUnix(l.out, oob, nil)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("broker: write timeout (%v): the peer does not read", l.sendTimeout)
	case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET): // as in receive, which may run later
		return fmt.Errorf("%w: %w", io.EOF, err)
	case err != nil:
		return err
	case n != len(l.out):
		return fmt.Errorf("broker: %d of %d bytes of %v were sent", n, len(l.out), f.kind)
	}
	return nil
}

// receive waits for a message. The data of the message are valid until the next call; the caller
// owns the descriptors. With an error, receive returns no descriptors. The error is io.EOF at the
// end of the connection.
func (l *link) receive() (frame, []int, error) {
	n, oobn, flags, _, err := l.conn.ReadMsgUnix(l.in, l.oob)
	if errors.Is(err, unix.ECONNRESET) {
		// The other end closed the socket with unread data. Its earlier messages follow this
		// error.
		n, oobn, flags, _, err = l.conn.ReadMsgUnix(l.in, l.oob)
	}
	if errors.Is(err, io.EOF) {
		return frame{}, nil, io.EOF
	}
	if err != nil {
		return frame{}, nil, err
	}
	files, err := descriptors(l.oob[:oobn])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = fmt.Errorf("broker: a message is longer than %d bytes or has more than %d descriptors",
			len(l.in)-1, maxFiles)
	}
	var f frame
	if err == nil {
		f, err = parse(l.in[:n], !l.server, len(files))
	}
	if err != nil {
		closeAll(files)
		return frame{}, nil, err
	}
	return f, files, nil
}

// descriptors returns the descriptors in the control messages of oob. With an error, it returns
// those found.
func descriptors(oob []byte) (files []int, err error) {
	all, err := unix.ParseSocketControlMessage(oob)
	for i := range all {
		fds, e := unix.ParseUnixRights(&all[i])
		files, err = append(files, fds...), errors.Join(err, e)
	}
	if err != nil {
		return files, fmt.Errorf("broker: control messages: %w", err)
	}
	return files, nil
}

// closeAll closes descriptors that the other end has sent. Closing a file of a FUSE file system,
// or a socket that lingers, can block for as long as the sender wants, so only a goroutine that
// works for the sender may call it.
func closeAll(files []int) {
	for _, fd := range files {
		_ = unix.Close(fd) // the type of the file is unknown
	}
}

func (l *link) close() error { return l.conn.Close() }
