package control

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/packet/pipe"
	"github.com/gorxe/gorxe/verbs"
)

// Every response is JSON: the result or an error.
func FuzzAsk(f *testing.F) {
	for _, seed := range [][3]string{
		{"GET", "/v1/status?", ""},
		{"GET", "/v1/qps?device=gorxe0&type=RC&state=RTS", ""}, {"GET", "/v1/qps?device=x", ""},
		{"PUT", "/v1/log?", `{"level":"debug"}`}, {"PUT", "/v1/log?a=%zz", `{"level":1}`},
		{"POST", "/v1/../v1/mrs?", "{}"}, {"GET", "//?", ""},
	} {
		path, query, _ := strings.Cut(seed[1], "?")
		f.Add(seed[0], path, query, seed[2])
	}
	link := must(pipe.NewNet().Open(netip.MustParseAddr("192.0.2.1"), 1500))
	d := must(verbs.Open(verbs.Config{Links: []packet.Link{link}}))
	f.Cleanup(func() { d.Close() })
	must(d.AllocPD().CreateQP(verbs.QPInitAttr{SendCQ: must(d.CreateCQ(1))}))
	var level slog.LevelVar
	s := &Server{
		Status: func() Status { return Status{} }, Devices: func() []*verbs.Device { return []*verbs.Device{d} },
		Level: &level, Log: slog.New(slog.DiscardHandler),
	}
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		r := httptest.NewRequest("GET", "/", strings.NewReader(body))
		r.Method, r.URL = method, &url.URL{Path: path, RawQuery: query}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		var v map[string]any
		if err := json.Unmarshal(w.Body.Bytes(), &v); err != nil {
			t.Fatalf("%d %q: %v", w.Code, w.Body, err)
		}
		if _, refused := v["error"]; refused != (w.Code >= 400) || w.Code >= http.StatusInternalServerError {
			t.Errorf("%d %v", w.Code, v)
		}
	})
}
