package verbspeer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// line is the connection. Each message is a line.
type line struct {
	conn net.Conn
	r    *bufio.Reader
}

// question is a step that the client requests from the server, and answer the response.
type (
	question struct {
		Step string `json:"step"`
		Fill int    `json:"fill"`
	}
	answer struct {
		Why string `json:"why"`
	}
)

func newLine(ctx context.Context, conn net.Conn) (*line, func() bool) {
	return &line{conn, bufio.NewReader(conn)}, context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
}

func (l *line) send(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = l.conn.Write(append(b, '\n'))
	return err
}

func (l *line) receive(v any) error {
	text, err := l.r.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(text, v)
}

// Run is the client: it performs the rounds and returns the first error.
func (c *Config) Run(ctx context.Context, conn net.Conn) error {
	op, err := find(c.Op)
	if err != nil {
		return err
	}
	l, stop := newLine(ctx, conn)
	defer stop()
	for n := range c.Rounds {
		if err := c.round(ctx, l, op, n); err != nil {
			return fmt.Errorf("%s, round %d: %w", c.Op, n, err)
		}
	}
	return nil
}

func (c *Config) round(ctx context.Context, l *line, op *operation, n int) error {
	e, err := c.open(op)
	if err != nil {
		return err
	}
	defer e.close()
	var peer info
	if err := errors.Join(l.send(e.info()), l.receive(&peer)); err != nil {
		return err
	}
	if err := e.connect(peer); err != nil {
		return err
	}
	steps := op.Steps
	if c.Refused && op.Refused == nil {
		return errors.New("the server refuses nothing of this operation")
	}
	if c.Refused {
		steps = append(steps[:len(steps):len(steps)], *op.Refused)
	}
	for _, s := range append(steps[:len(steps):len(steps)], step{name: "end", ask: true}) {
		if s.ask {
			var a answer
			if err := errors.Join(l.send(question{s.name, n}), l.receive(&a)); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			if a.Why != "" {
				return fmt.Errorf("%s: the server says: %s", s.name, a.Why)
			}
			continue
		}
		status, err := e.request(ctx, s.name, n)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if status != s.want {
			return fmt.Errorf("%s: status %v, want %v", s.name, status, s.want)
		}
	}
	return nil
}

// Serve is the server: it serves one client until that closes the connection, and returns the
// number of rounds.
func (c *Config) Serve(ctx context.Context, conn net.Conn) (rounds int, err error) {
	op, err := find(c.Op)
	if err != nil {
		return 0, err
	}
	l, stop := newLine(ctx, conn)
	defer stop()
	for {
		var peer info
		switch err := l.receive(&peer); {
		case errors.Is(err, io.EOF):
			return rounds, nil
		case err != nil:
			return rounds, err
		}
		if err := c.serve(ctx, l, op, peer); err != nil {
			return rounds, fmt.Errorf("%s, round %d: %w", c.Op, rounds, err)
		}
		rounds++
	}
}

func (c *Config) serve(ctx context.Context, l *line, op *operation, peer info) error {
	e, err := c.open(op)
	if err != nil {
		return err
	}
	defer e.close()
	if err := errors.Join(e.connect(peer), e.prepare(ctx)); err != nil {
		return err
	}
	if err := l.send(e.info()); err != nil {
		return err
	}
	for {
		var q question
		if err := l.receive(&q); err != nil {
			return err
		}
		var a answer
		why := e.answer(ctx, q.Step, q.Fill)
		if why != nil {
			a.Why = why.Error()
		}
		if err := l.send(a); why != nil || err != nil || q.Step == "end" {
			return errors.Join(why, err)
		}
	}
}
