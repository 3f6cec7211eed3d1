package capture_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

func TestAReaderBoundsTheCommentsOnAFrame(t *testing.T) {
	o := binary.LittleEndian
	for _, tt := range []struct {
		comments, want int
		last           string
	}{
		{1023, 1023, "comment 1022"},
		{5000, 1024, "3977 further comments on this frame omitted by gorxe"},
	} {
		body := [][]byte{words(o, 0, 0, 0, 3, 3), padded("abc")}
		for i := range tt.comments {
			text := fmt.Sprint("comment ", i)
			body = append(body, option(o, 1, []byte(text)...))
		}
		all := slices.Concat(block(o, 0x0a0d0d0a, words(o, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff)),
			block(o, 1, words(o, 1, 0)), block(o, 6, body...))
		got, err := frames(t, bytes.NewReader(all))
		if err != nil || len(got) != 1 {
			t.Fatalf("%d frames, %v", len(got), err)
		}
		if c := got[0].Comments; len(c) != tt.want || c[len(c)-1] != tt.last {
			t.Errorf("of %d comments %d are kept, the last is %q", tt.comments, len(c), c[len(c)-1])
		}
	}
}
