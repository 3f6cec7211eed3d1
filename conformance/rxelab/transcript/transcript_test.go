package transcript

import (
	"strings"
	"testing"
)

func TestWatcherFindsATextInPieces(t *testing.T) {
	var out strings.Builder
	w := Watch(&out, "marker")
	for _, piece := range []string{"xxmar", "ke", "", "r", "yy"} {
		select {
		case <-w.Found:
			if piece != "yy" {
				t.Errorf("found before %q", piece)
			}
		default:
		}
		if _, err := w.Write([]byte(piece)); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case <-w.Found:
	default:
		t.Error("not found")
	}
	if out.String() != "xxmarkeryy" {
		t.Errorf("passed %q", out.String())
	}
}
