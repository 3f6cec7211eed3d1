package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"syscall"
)

// Client is a client of the daemon at a socket.
type Client struct {
	socket string
	http   http.Client
}

// NewClient returns a client of the daemon at a socket. dial, if not nil, replaces the system's
// connect.
func NewClient(socket string, dial func(context.Context) (net.Conn, error)) *Client {
	if dial == nil {
		dial = func(ctx context.Context) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}
	}
	return &Client{socket: socket, http: http.Client{Transport: &http.Transport{
		DialContext:       func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
		DisableKeepAlives: true,
	}}}
}

// Get requests a path and decodes the response into v. The query may be nil.
func (c *Client) Get(ctx context.Context, path string, query url.Values, v any) error {
	return c.do(ctx, http.MethodGet, path, query, nil, v)
}

// Put sends v to a path.
func (c *Client) Put(ctx context.Context, path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return c.do(ctx, http.MethodPut, path, nil, text, nil)
}

// Stream requests a path whose response continues until ctx or the daemon ends. It returns the
// body, which the caller closes.
func (c *Client) Stream(ctx context.Context, path string, query url.Values) (io.ReadCloser, error) {
	resp, err := c.ask(ctx, http.MethodGet, path, query, nil)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

func (c *Client) do(ctx context.Context, method, path string, query url.Values, send []byte, v any) error {
	resp, err := c.ask(ctx, method, path, query, send)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if v == nil {
		return nil
	}
	if err := json.NewDecoder(resp.Body).Decode(v); err != nil {
		return fmt.Errorf("%s %s at %s: truncated or invalid JSON response: %w", method, path, c.socket, err)
	}
	return nil
}

// ask returns the response to a request if it is successful.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, send []byte) (*http.Response, error) {
	u := url.URL{Scheme: "http", Host: "gorxe", Path: path, RawQuery: query.Encode()}
	var content io.Reader
	if send != nil {
		content = bytes.NewReader(send)
	}
	r, err := http.NewRequestWithContext(ctx, method, u.String(), content)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, c.explain(err)
	}
	if resp.StatusCode != http.StatusOK {
		defer resp.Body.Close()
		var p Problem
		if json.NewDecoder(resp.Body).Decode(&p) != nil || p.Error == "" {
			return nil, fmt.Errorf("%s %s at %s: %s", method, path, c.socket, resp.Status)
		}
		return nil, errors.New(p.Error)
	}
	return resp, nil
}

// explain adds a remedy to the error of a daemon that cannot be reached.
func (c *Client) explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf(
			"no gorxe daemon answers at %s: start one with 'gorxe daemon', or name its socket with --socket", c.socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf(
			"%s: permission denied: run as the user of the daemon or as a member of the group control.group", c.socket)
	}
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err
	}
	return fmt.Errorf("the daemon at %s: %w", c.socket, err)
}
