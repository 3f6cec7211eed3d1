package broker

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
	"golang.org/x/sys/unix"
)

// pair returns the two ends of a connection.
func pair(t testing.TB) (a, b *net.UnixConn) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]*net.UnixConn
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, err := net.FileConn(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = c.(*net.UnixConn)
	}
	return ends[0], ends[1]
}

// Messages of a hostile client: each is a byte with the number of its descriptors, one with its
// kind, two with its length, and the rest of the message. When the client has gone, nothing of it
// may remain.
func FuzzSession(f *testing.F) {
	message := func(files byte, m frame) []byte {
		b := m.appendTo(nil)
		return append([]byte{files, byte(m.kind), byte(len(b)), byte(len(b) >> 8)}, b...)
	}
	opens := message(3, frame{kind: kindOpen, call: 1, process: 1})
	f.Add(opens)
	f.Add(append(append([]byte(nil), opens...), message(0, frame{kind: kindCall, call: 2, object: 1, cmd: 1})...))
	f.Add(append(append([]byte(nil), opens...), message(0, frame{kind: kindRelease, object: 1})...))
	f.Add(append(append([]byte(nil), opens...), message(0, frame{kind: kindExit, process: 1})...))
	f.Add(message(1, frame{kind: kindInstalled, call: 1}))
	f.Fuzz(func(t *testing.T, script []byte) {
		s := &service{}
		s.answers(func(ctx context.Context, _ *file, from Caller, c Call) (int64, error) {
			switch c.Cmd % 3 {
			case 1:
				n, err := from.Install(os.Stdin, 1)
				return int64(n), err
			case 2:
				_ = from.Object(int32(c.Arg))
			}
			return 0, uapi.EINVAL
		})
		server := NewServer(Config{Log: slog.New(slog.DiscardHandler), Devices: []Device{{
			Describe: func() Description { return Description{DeviceName: "roce0"} }, Files: map[File]Service{Verbs: s},
		}}})
		theirs, mine := pair(t)
		server.accept(theirs)
		self := openSelf(t)
		defer self.close()
		fds := []int{int(self[fileDir].Fd()), int(self[fileMem].Fd()), int(self[fileMaps].Fd()), 0, 0}
		l := newLink(mine, false, handshake)
		if err := l.send(&frame{kind: kindHello, data: encode(hello{Version: version})}); err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				_, files, err := l.receive()
				closeAll(files)
				if err != nil {
					if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
						t.Errorf("the server sends what breaks a rule: %v", err)
					}
					return
				}
			}
		}()
		for len(script) >= 4 {
			files, length := int(script[0])%6, int(script[2])|int(script[3])<<8
			body := script[4:]
			body = body[:min(length, len(body))]
			script = script[4+len(body):]
			if len(body) == 0 {
				continue
			}
			if _, _, err := mine.WriteMsgUnix(body, unix.UnixRights(fds[:min(files, len(fds))]...), nil); err != nil {
				break // disconnected
			}
		}
		mine.Close()
		<-done
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
		for _, o := range s.files() {
			<-o.closed
		}
		if u := server.quota.used(); u != (counts{}) {
			t.Errorf("in use: %v", u)
		}
	})
}
