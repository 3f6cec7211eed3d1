package control

import (
	"errors"
	"net/http"
	"net/netip"
	"time"
)

// ErrBusy means that a limit of concurrent requests is reached.
var ErrBusy = errors.New("try again later")

// packetsTimeout is the timeout of each write to a stream.
const packetsTimeout = time.Minute

// packets streams a capture until the client disconnects or the daemon stops.
func (s *Server) packets(w http.ResponseWriter, r *http.Request) error {
	var peer netip.Addr
	if text := r.URL.Query().Get("peer"); text != "" {
		var err error
		if peer, err = netip.ParseAddr(text); err != nil {
			return refuse(http.StatusBadRequest, "peer: %q is no IP address", text)
		}
	}
	if s.Packets == nil {
		return refuse(http.StatusNotFound, "packet streams are not available")
	}
	c := http.NewResponseController(w)
	// The stream has no end, so the deadline applies to each write.
	if err := c.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-pcapng")
	out := &pieces{w, c, false}
	err := s.Packets(r.Context(), out, peer)
	if out.begun || err == nil {
		return nil // the client has part of the response: the end of the stream tells it
	}
	w.Header().Del("Content-Type")
	if errors.Is(err, ErrBusy) {
		return refuse(http.StatusServiceUnavailable, "%v", err)
	}
	return err
}

// pieces is a response that flushes each write.
type pieces struct {
	http.ResponseWriter
	c     *http.ResponseController
	begun bool
}

func (p *pieces) Write(b []byte) (int, error) {
	p.begun = true
	if err := p.c.SetWriteDeadline(time.Now().Add(packetsTimeout)); err != nil {
		return 0, err
	}
	n, err := p.ResponseWriter.Write(b)
	if err == nil {
		err = p.c.Flush()
	}
	return n, err
}
