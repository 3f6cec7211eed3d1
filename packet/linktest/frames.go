package linktest

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/gorxe/gorxe/packet"
)

// SendTo prepares and sends one frame for each text, with the text as payload.
func SendTo(t testing.TB, from packet.Link, to netip.Addr, texts ...string) error {
	t.Helper()
	b := packet.NewBatch(len(texts))
	path := &packet.Path{Src: from.Local(), Dst: to}
	for _, s := range texts {
		f := b.AppendFrame()
		f.Path = path
		f.Payload = append(f.Payload, []byte(s))
	}
	from.Prepare(b)
	return from.Send(b)
}

// MustSend calls SendTo and fails the test on error.
func MustSend(t testing.TB, from packet.Link, to netip.Addr, texts ...string) {
	t.Helper()
	if err := SendTo(t, from, to, texts...); err != nil {
		t.Fatal(err)
	}
}

// RecvTexts returns the payloads of n frames, or of more if the last Recv returns several frames.
func RecvTexts(t testing.TB, l packet.Link, n int) (texts []string) {
	t.Helper()
	rb := packet.NewRecvBatch(64)
	for len(texts) < n {
		if err := l.Recv(rb); err != nil {
			t.Fatalf("after %q: %v", texts, err)
		}
		for _, f := range rb.Frames {
			texts = append(texts, string(f.Data))
		}
	}
	return texts
}

// Exchange sends one frame with size bytes of payload and returns the frame that to received.
func Exchange(t *testing.T, from, to packet.Link, size int) packet.Received {
	t.Helper()
	path := packet.Path{Src: from.Local(), Dst: to.Local()}
	b, rb := packet.NewBatch(1), packet.NewRecvBatch(8)
	f := b.AppendFrame()
	f.Path, f.Payload = &path, append(f.Payload, bytes.Repeat([]byte{0xa5}, size))
	from.Prepare(b)
	if err := from.Send(b); err != nil {
		t.Fatalf("Send: %v", err)
	}
	if err := to.Recv(rb); err != nil {
		t.Fatalf("Recv: %v", err)
	}
	if len(rb.Frames) != 1 || len(rb.Frames[0].Data) != size {
		t.Fatalf("got %d frames, the first of %d bytes, want one of %d", len(rb.Frames), len(rb.Frames[0].Data), size)
	}
	return rb.Frames[0]
}
