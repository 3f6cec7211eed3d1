package perftest

import (
	"strings"
	"testing"
)

func TestAPayloadIsReadAsPerftestReadsIt(t *testing.T) {
	for _, c := range []struct{ text, payload, err string }{
		{text: "0x01020304", payload: "\x04\x03\x02\x01"},
		{text: "0x01020304,0xaAbBcCdD", payload: "\x04\x03\x02\x01\xdd\xcc\xbb\xaa"},
		{text: "0x00000001,0x00000002\n", payload: "\x01\x00\x00\x00\x02\x00\x00\x00"},
		{text: "0x00000001,0x00000002,\n0x00000003\n0x00000004,\n\n",
			payload: "\x01\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00\x04\x00\x00\x00"},
		{text: ",0x00000001,,0x00000002,", payload: "\x01\x00\x00\x00\x02\x00\x00\x00"},
		{text: "", err: `f: there is no payload: write`},
		{text: ",", err: `f: there is no payload: write`},
		{text: "0x01020304\n", err: `f:1:1: "0x01020304\n" is not 0x and eight hex digits: write`},
		{text: "\n0x01020304,0x01020304", err: `f:1:1: `},
		{text: "0x01020304, 0x05060708", err: `f:1:12: " 0x05060708" is not`},
		{text: "0x01020304,\n0x05060708\n0x0506070", err: `f:3:1: "0x0506070" is not`},
		{text: "0x01020304,0x050607089", err: `f:1:12: "0x050607089" is not`},
		{text: "0x0102030g", err: `f:1:1: "0x0102030g" is not`},
		{text: "0102030405", err: `f:1:1: "0102030405" is not`},
		{text: "0x00000001,0x00000002\r\n", err: `f:1:12: "0x00000002\r" is not`},
		{text: strings.Repeat(",", MaxPayloadFile+1), err: "f: the file has more than 1048576 bytes"},
		{text: strings.Repeat("7", 100), err: `7777" is not`},
	} {
		got, err := ParsePayload("f", c.text)
		if string(got) != c.payload || (err == nil) != (c.err == "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%q: %q, %v\nwant %q, %s", c.text, got, err, c.payload, c.err)
		}
	}
}
