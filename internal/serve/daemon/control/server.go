package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/gorxe/gorxe/internal/serve/daemon/config"
	"github.com/gorxe/gorxe/verbs"
)

// Server serves the API of a daemon. Its fields must be set before the first request.
type Server struct {
	Status   func() Status
	Devices  func() []*verbs.Device
	Counters func(*verbs.Device) map[string]uint64 // nil means those of the device only
	// DaemonCounters calls f with the counters of the daemon and its built-in servers that belong
	// to no device. nil means that there are none.
	DaemonCounters func(f func(name string, value uint64))
	// Packets writes the packets of the devices from now on as pcapng, until ctx ends: all, or
	// those to and from one address. nil disables it.
	Packets func(ctx context.Context, w io.Writer, peer netip.Addr) error
	Level   *slog.LevelVar
	Log     *slog.Logger
}

// A route handles a method on a path.
type route struct {
	query []string // permitted keys
	serve func(*Server, http.ResponseWriter, *http.Request) error
}

// routes are all routes, by path and method.
var routes = map[string]map[string]route{
	"/v1/status":  {"GET": {nil, (*Server).status}},
	"/v1/qps":     {"GET": {[]string{"device", "type", "state"}, (*Server).qps}},
	"/v1/mrs":     {"GET": {[]string{"device"}, (*Server).mrs}},
	"/v1/cqs":     {"GET": {[]string{"device"}, (*Server).cqs}},
	"/v1/srqs":    {"GET": {[]string{"device"}, (*Server).srqs}},
	"/v1/groups":  {"GET": {[]string{"device"}, (*Server).groups}},
	"/v1/cms":     {"GET": {[]string{"device"}, (*Server).cms}},
	"/v1/stats":   {"GET": {[]string{"device"}, (*Server).stats}},
	"/v1/packets": {"GET": {[]string{"peer"}, (*Server).packets}},
	"/v1/log":     {"GET": {nil, (*Server).level}, "PUT": {nil, (*Server).setLevel}},
}

// refusal is an error with the status of its response.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) error {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := s.serve(w, r); err != nil {
		status := http.StatusInternalServerError
		var known *refusal
		if errors.As(err, &known) {
			status = known.status
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(Problem{err.Error()})
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	methods, ok := routes[r.URL.Path]
	if !ok {
		return refuse(http.StatusNotFound, "unknown path %q; known: %s", r.URL.Path,
			strings.Join(slices.Sorted(maps.Keys(routes)), ", "))
	}
	to, ok := methods[r.Method]
	if !ok {
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allowed)
		return refuse(http.StatusMethodNotAllowed, "%s is not possible on %s: use %s", r.Method, r.URL.Path, allowed)
	}
	query, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	for key, values := range query {
		switch {
		case !slices.Contains(to.query, key) && len(to.query) == 0:
			return refuse(http.StatusBadRequest, "%s takes no query keys, got %q", r.URL.Path, key)
		case !slices.Contains(to.query, key):
			return refuse(http.StatusBadRequest, "unknown query key %q of %s; known: %s", key, r.URL.Path,
				strings.Join(to.query, ", "))
		case len(values) > 1:
			return refuse(http.StatusBadRequest, "%q is given %d times: give it once", key, len(values))
		}
	}
	if r.Method == http.MethodGet && r.ContentLength != 0 {
		return refuse(http.StatusBadRequest, "a GET has no body")
	}
	return to.serve(s, w, r)
}

// answer sends v as JSON.
func answer(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(v)
}

// maxBody is the maximum size of a body in bytes.
const maxBody = 1 << 16

// body decodes the request's body into v. Unknown fields are errors.
func body(w http.ResponseWriter, r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return refuse(http.StatusBadRequest, "the body: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return refuse(http.StatusBadRequest, "the body: there is something behind the object")
	}
	return nil
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) error { return answer(w, s.Status()) }

func (s *Server) level(w http.ResponseWriter, _ *http.Request) error {
	return answer(w, Log{strings.ToLower(s.Level.Level().String())})
}

func (s *Server) setLevel(w http.ResponseWriter, r *http.Request) error {
	var to Log
	if err := body(w, r, &to); err != nil {
		return err
	}
	l, err := config.ParseLevel(to.Level)
	if err != nil {
		return refuse(http.StatusBadRequest, "level: %v", err)
	}
	was := s.Level.Level()
	s.Level.Set(l)
	s.Log.Log(r.Context(), max(was, l, slog.LevelInfo), "log level changed", "from", was, "to", l)
	return answer(w, to)
}

func (s *Server) stats(w http.ResponseWriter, r *http.Request) error {
	devices, err := s.chosen(r)
	if err != nil {
		return err
	}
	of := s.Counters
	if of == nil {
		of = (*verbs.Device).Counters
	}
	all := []Stats{}
	for _, d := range devices {
		all = append(all, Stats{d.Name(), of(d)})
	}
	if s.DaemonCounters != nil && r.URL.Query().Get("device") == "" {
		own := Stats{Counters: map[string]uint64{}}
		s.DaemonCounters(func(name string, value uint64) { own.Counters[name] = value })
		all = append(all, own)
	}
	return answer(w, map[string]any{"stats": all})
}

// chosen returns the devices that the request selects.
func (s *Server) chosen(r *http.Request) ([]*verbs.Device, error) {
	all := s.Devices()
	name := r.URL.Query().Get("device")
	if name == "" {
		return all, nil
	}
	var have []string
	for _, d := range all {
		if d.Name() == name {
			return []*verbs.Device{d}, nil
		}
		have = append(have, d.Name())
	}
	return nil, refuse(http.StatusNotFound, "there is no device %q: there are %s", name, strings.Join(have, ", "))
}
