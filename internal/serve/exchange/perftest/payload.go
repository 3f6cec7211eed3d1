package perftest

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
)

// MaxPayloadFile is the maximum size of a payload file in bytes; perftest has no limit.
const MaxPayloadFile = 1 << 20

// ParsePayload parses the payload of a test, the text of the file of --payload_file_path, as
// perftest does: DWORDs such as 0x01020304 separated by commas; the last two digits are the first
// byte. A line may end after each DWORD except the first. file is used in messages.
func ParsePayload(file, text string) (payload []byte, err error) {
	if len(text) > MaxPayloadFile {
		return nil, fmt.Errorf("%s: the file has more than %d bytes", file, MaxPayloadFile)
	}
	begin := 0
	for first := true; ; first = false {
		ends := ",\n"
		if first {
			ends = ","
		}
		begin += len(text[begin:]) - len(strings.TrimLeft(text[begin:], ends))
		if begin == len(text) {
			break
		}
		word := text[begin:]
		if i := strings.IndexAny(word, ends); i >= 0 {
			word = word[:i]
		}
		digits, ok := strings.CutPrefix(word, "0x")
		dword, err := hex.DecodeString(digits)
		if !ok || err != nil || len(dword) != 4 {
			before := text[:begin]
			line, column := 1+strings.Count(before, "\n"), begin-strings.LastIndexByte(before, '\n')
			return nil, fmt.Errorf("%s:%d:%d: %.40q is not 0x and eight hex digits: write 0x01020304,0x05060708 without spaces; newlines only after the second or a later word", file, line, column, word)
		}
		slices.Reverse(dword)
		payload = append(payload, dword...)
		begin += len(word)
	}
	if payload == nil {
		return nil, fmt.Errorf("%s: there is no payload: write 0x01020304,0x05060708", file)
	}
	return payload, nil
}
