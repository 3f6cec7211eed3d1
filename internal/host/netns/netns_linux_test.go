package netns

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheNumberIsTheInodeOfTheNamespace(t *testing.T) {
	var st unix.Stat_t
	if err := unix.Stat("/proc/self/ns/net", &st); err != nil {
		t.Fatal(err)
	}
	id, err := ID()
	if want := fmt.Sprint(st.Ino); err != nil || id != want {
		t.Errorf("%q, %v; want %q", id, err, want)
	}
	if link, err := os.Readlink("/proc/self/ns/net"); err != nil || link != "net:["+id+"]" {
		t.Errorf("the link is %q, %v", link, err)
	}
}
