package hostile

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestAProcessRefusesWhatItDoesNotKnow(t *testing.T) {
	var out bytes.Buffer
	if err := Serve(roleGood, strings.NewReader("{\"op\":\"nothing\"}\n"), &out); err != nil {
		t.Fatal(err)
	}
	if want := "no operation is named nothing"; !bytes.Contains(out.Bytes(), []byte(want)) {
		t.Errorf("%s, want %q", out.Bytes(), want)
	}
	if err := Serve(roleGood, strings.NewReader("not JSON\n"), io.Discard); err == nil {
		t.Error("what is not JSON is taken")
	}
}
