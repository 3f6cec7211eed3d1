package broker

import (
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// The kernel reports ECONNRESET for the next operation if the other side closed the socket with
// unread data.
func TestAClientThatSendsToAClosedServerHearsOfItsEnd(t *testing.T) {
	a, b := pair(t)
	c := newClient(a)
	c.Release(1)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	c.Exit(1)
	c.Exit(2)
	c.Start(quiet{})
	if err := c.Err(); err != io.EOF {
		t.Errorf("the connection has ended with %v, want %v", err, io.EOF)
	}
}

func TestAClientWhoseServerDoesNotReadSaysSo(t *testing.T) {
	a, b := pair(t)
	defer b.Close()
	c := newClient(a)
	c.link.sendTimeout = time.Millisecond
	c.Start(quiet{})
	for ended := false; !ended; {
		c.Exit(1)
		select {
		case <-c.Done():
			ended = true
		default:
		}
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "the peer does not read") {
		t.Errorf("the connection has ended with %v", err)
	}
}

// A message that arrives after the receiver has closed the socket must not change the reported
// cause.
func TestASendAfterTheEndDoesNotHideTheCause(t *testing.T) {
	for range 50 {
		a, b := pair(t)
		c := newClient(a)
		c.mu.Lock() // the receiver closes the socket and waits
		c.Start(quiet{})
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		for !isClosed(c.link.send(&frame{kind: kindExit, process: 1})) {
			runtime.Gosched()
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			c.Exit(1)
		}()
		c.mu.Unlock()
		<-sent
		if err := c.Err(); err != io.EOF {
			t.Fatalf("the connection has ended with %v, want %v", err, io.EOF)
		}
	}
}
