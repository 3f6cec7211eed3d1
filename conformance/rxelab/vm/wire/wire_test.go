package wire

import (
	"bytes"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFramesComeThroughUnchanged(t *testing.T) {
	frames := []Frame{
		{Stream: 0, Kind: Hello, Data: []byte("{}")},
		{Stream: 1<<32 - 1, Kind: Stdout, Data: bytes.Repeat([]byte{0xff}, MaxData)},
		{Stream: 7, Kind: End, Data: []byte{}},
	}
	var b bytes.Buffer
	for _, f := range frames {
		if err := Write(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range frames {
		got, err := ReadFrame(&b)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	if _, err := ReadFrame(&b); err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

func TestBrokenStreamsAreErrors(t *testing.T) {
	for name, b := range map[string][]byte{
		"half a header":   {0, 0, 0},
		"half a payload":  {0, 0, 0, 1, byte(Stdout), 0, 0, 0, 4, 'a'},
		"absurd length":   {0, 0, 0, 1, byte(Stdout), 0xff, 0, 0, 0},
		"one over length": {0, 0, 0, 1, byte(Stdout), 0, 1, 0, 1},
	} {
		if f, err := ReadFrame(bytes.NewReader(b)); err == nil || err == io.EOF {
			t.Errorf("%s: %+v, %v", name, f, err)
		}
	}
}

func TestOversizedFrameIsRefused(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, Frame{Kind: Stdout, Data: make([]byte, MaxData+1)}); err == nil || b.Len() != 0 {
		t.Errorf("%v, %d bytes written", err, b.Len())
	}
}
