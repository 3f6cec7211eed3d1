package region

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestNamesOfRegions(t *testing.T) {
	for name, good := range map[string]bool{
		"a": true, "Scratch_0.1-b": true, strings.Repeat("x", MaxName): true, ".hidden": true,
		"": false, "-a": false, "a/b": false, "a b": false, "ä": false, "a\x00": false,
		strings.Repeat("x", MaxName+1): false,
	} {
		if err := CheckName(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestRightsByName(t *testing.T) {
	if a, err := ParseAccess([]string{"write", "read", "read"}); err != nil || a != Read|Write ||
		a.String() != "read,write" {
		t.Errorf("%v, %v", a, err)
	}
	if _, err := ParseAccess([]string{"read", "execute"}); err == nil {
		t.Error("a right that there is not")
	}
}

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	for _, name := range []string{"", "a", strings.Repeat("z", MaxName)} {
		p := request(name)
		if got, err := parseRequest(p); err != nil || got != name || len(p) != 56 {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
	golden := append([]byte("gxrg\x01\x02\x00\x00ab"), make([]byte, 46)...)
	if !bytes.Equal(request("ab"), golden) {
		t.Errorf("%x", request("ab"))
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(p []byte) []byte{
		"the magic":                func(p []byte) []byte { p[0]++; return p },
		"the version":              func(p []byte) []byte { p[4]++; return p },
		"a name that is too long":  func(p []byte) []byte { p[5] = MaxName + 1; return p },
		"a byte without a meaning": func(p []byte) []byte { p[7] = 1; return p },
		"bytes behind the name":    func(p []byte) []byte { p[5]--; return p },
		"a zero in the name":       func(p []byte) []byte { p[5]++; return p },
		"a slash in the name":      func(p []byte) []byte { p[8] = '/'; return p },
		"the end":                  func(p []byte) []byte { return p[:55] },
		"everything":               func(p []byte) []byte { return nil },
	} {
		if got, err := parseRequest(spoil(request("name"))); err == nil {
			t.Errorf("%s: taken as a request for %q", name, got)
		}
	}
}

func TestAReplyIsReadAsItWasWritten(t *testing.T) {
	want := location{Read | Atomic, 0x0102030405060708, 0x1112131415161718, 0x21222324}
	p := want.encode()
	if !bytes.Equal(p, []byte(
		"gxrg\x01\x05\x00\x00\x01\x02\x03\x04\x05\x06\x07\x08\x11\x12\x13\x14\x15\x16\x17\x18\x21\x22\x23\x24")) {
		t.Errorf("%x", p)
	}
	if got, err := parseReply(append(p, make([]byte, 168)...)); err != nil || got != want {
		t.Errorf("%+v, %v", got, err)
	}
	p[5] = 0xff
	if got, err := parseReply(p); err != nil || got.access != allAccess {
		t.Errorf("unknown rights: %+v, %v", got, err)
	}
	end := location{addr: math.MaxUint64 - 1, length: 2}
	if _, err := parseReply(end.encode()); err != nil {
		t.Errorf("the last two bytes of the address space: %v", err)
	}
	end.length++
	for name, p := range map[string][]byte{"empty": nil, "short": p[:27], "of another program": make([]byte, 196),
		"of version 2": []byte("gxrg\x02" + strings.Repeat("\x00", 23)), "past the end": end.encode()} {
		if _, err := parseReply(p); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADirectoryIsChecked(t *testing.T) {
	if d, err := parseDirectory([]byte(
		`{"regions":[{"name":"a","kind":"file","length":5,"access":["read"],"more":1}]}`)); err != nil ||
		len(d.Regions) != 1 || d.Regions[0].Length != 5 {
		t.Errorf("%+v, %v", d, err)
	}
	for _, text := range []string{
		"", "[]", `{"regions":[{"name":"a","kind":"file","length":-1}]}`,
		`{"regions":[{"name":"\u001b[2J","kind":"file"}]}`,
		`{"regions":[{"name":"a","kind":"a b"}]}`, `{"regions":[{"name":"a","kind":"b","access":["\u0007"]}]}`,
	} {
		if _, err := parseDirectory([]byte(text)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Every request is rejected, or encodes to the same bytes.
func FuzzRequest(f *testing.F) {
	for _, name := range []string{"", "a", strings.Repeat("z", MaxName)} {
		f.Add(request(name))
	}
	f.Add([]byte("gxrg\x01\x31"))
	f.Fuzz(func(t *testing.T, p []byte) {
		name, err := parseRequest(p)
		if err == nil && !bytes.Equal(request(name), p[:requestLen]) {
			t.Errorf("%q from %x", name, p)
		}
	})
}

// Text of a server reaches a terminal only if it is a valid name.
func FuzzDirectory(f *testing.F) {
	f.Add([]byte(`{"regions":[]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := parseDirectory(text)
		if err != nil {
			return
		}
		for _, e := range d.Regions {
			for _, word := range append([]string{e.Name, e.Kind}, e.Access...) {
				if CheckName(word) != nil {
					t.Errorf("%q", word)
				}
			}
		}
	})
}

func FuzzReply(f *testing.F) {
	f.Add((&location{Read, 1, 2, 3}).encode())
	f.Add((&location{Write, math.MaxUint64, 2, 3}).encode())
	f.Fuzz(func(t *testing.T, p []byte) {
		if l, err := parseReply(p); err == nil && l.length > 0 && l.addr+(l.length-1) < l.addr {
			t.Errorf("%+v", l)
		}
	})
}
