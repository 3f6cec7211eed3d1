package vm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
)

// framesOf returns count frames of different sizes, each of which contains its number.
func framesOf(count int) []byte {
	var b []byte
	for i := range count {
		size := 4 + i*7%900
		b = binary.BigEndian.AppendUint32(b, uint32(size))
		b = binary.BigEndian.AppendUint32(b, uint32(i))
		b = append(b, make([]byte, size-4)...)
	}
	return b
}

func TestACableCarriesFramesBothWays(t *testing.T) {
	c, err := NewCable(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	var ends [2]net.Conn
	for i, s := range c.Sockets() {
		if ends[i], err = net.Dial("unix", s); err != nil {
			t.Fatal(err)
		}
		defer ends[i].Close()
	}
	const count = 30 // sockets buffer that many without a reader
	for way, from := range ends {
		want := framesOf(count)
		if _, err := from.Write(want); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err := io.ReadFull(ends[1-way], got); err != nil || !bytes.Equal(got, want) {
			t.Errorf("way %d: other bytes, %v", way, err)
		}
	}
	if carried, lost := c.Counts(); carried != 2*count || lost != 0 {
		t.Errorf("%d frames carried, %d lost", carried, lost)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := ends[0].Read(make([]byte, 1)); err == nil {
		t.Error("an end goes on after the cable has gone")
	}
}

func TestACableLosesWholeFramesAndNoMoreThanItShould(t *testing.T) {
	const count, part = 20000, 0.1
	var c Cable
	c.SetLoss(part)
	var out bytes.Buffer
	if err := c.carry(&out, bytes.NewReader(framesOf(count)), rand.New(rand.NewPCG(1, 0))); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	carried, lost := c.Counts()
	if carried+lost != count || lost < 1800 || lost > 2200 {
		t.Errorf("%d frames carried and %d lost, of %d with %v lost", carried, lost, count, part)
	}
	last, n := -1, uint64(0)
	for b := out.Bytes(); len(b) > 0; n++ {
		number := int(binary.BigEndian.Uint32(b[4:]))
		if number <= last {
			t.Fatalf("frame %d comes after frame %d", number, last)
		}
		last, b = number, b[4+binary.BigEndian.Uint32(b):]
	}
	if n != carried {
		t.Errorf("%d frames arrived, %d were counted", n, carried)
	}
}

func TestWhatIsNoFrameEndsACable(t *testing.T) {
	for name, text := range map[string][]byte{"too long": {0xff, 0, 0, 0, 1}, "cut short": {0, 0, 0, 9, 1}} {
		var c Cable
		if err := c.carry(io.Discard, bytes.NewReader(text), rand.New(rand.NewPCG(1, 0))); err == nil {
			t.Errorf("%s: no error", name)
		}
		if carried, _ := c.Counts(); carried != 0 {
			t.Errorf("%s: %d frames", name, carried)
		}
	}
}

func TestACableThatNobodyPluggedInIsRemoved(t *testing.T) {
	c, err := NewCable(t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
