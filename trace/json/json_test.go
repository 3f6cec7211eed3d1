package json_test

import (
	"bytes"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/cm/mad"
	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/internal/scene"
	"github.com/gorxe/gorxe/trace/json"
)

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(json.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate reads all lines of text, checks them against the schema and returns them.
func validate(t *testing.T, s *jsonschema.Schema, text []byte) (objects []map[string]any) {
	t.Helper()
	if len(text) == 0 || text[len(text)-1] != '\n' {
		t.Fatalf("%q does not end with a newline", text)
	}
	for line := range bytes.Lines(text) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(line))
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := s.Validate(v); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		objects = append(objects, v.(map[string]any))
	}
	return objects
}

// write returns the JSON of a script.
func write(t *testing.T, s *scene.Script, payload bool) []byte {
	t.Helper()
	var b bytes.Buffer
	w := json.NewWriter(&b)
	w.Payload = payload
	for _, p := range s.Packets {
		if err := w.Packet(p); err != nil {
			t.Fatal(err)
		}
	}
	for _, m := range s.Messages {
		if err := w.Message(m); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range s.Flows {
		if err := w.Flow(f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func TestAConversationObeysTheSchema(t *testing.T) {
	s := schema(t)
	for _, payload := range []bool{false, true} {
		objects := validate(t, s, write(t, scene.Lossy(), payload))
		if want := scene.LossyFrames + 4 + 1; len(objects) != want {
			t.Errorf("%d objects, want %d", len(objects), want)
		}
	}
}

func TestEveryOpcodeObeysTheSchema(t *testing.T) {
	s := schema(t)
	w := scene.New()
	ends := [2]trace.End{{Addr: netip.MustParseAddr("2001:db8::1"), QPN: 0xfffffe},
		{Addr: netip.MustParseAddr("fe80::2%eth0")}}
	f := w.Flow(bth.ServiceUD, ends[0], ends[1])
	for op := range bth.Opcodes() {
		p := bth.Packet{
			Opcode: op, PSN: bth.MaxPSN, AETH: bth.AETH{Syndrome: bth.RNR(0), MSN: 0xffffff}, AtomicAck: 1<<64 - 1,
			RETH: bth.RETH{VA: 1<<64 - 1, DMALen: 1<<32 - 1}, FETH: bth.FETH{Type: 3, Level: 1},
		}
		if op.Info().Payload {
			p.Payload = make([]byte, 8)
		}
		w.Packet(f, 0, trace.NoRole, p, "")
	}
	validate(t, s, write(t, w, true))
}

func TestEveryMessageOfTheConnectionManagerObeysTheSchema(t *testing.T) {
	s := schema(t)
	w := scene.New()
	f := w.Flow(bth.ServiceRC, trace.End{Addr: netip.MustParseAddr("192.0.2.1")},
		trace.End{Addr: netip.MustParseAddr("192.0.2.2")})
	for a := mad.AttrREQ; a <= mad.AttrAPR+1; a++ {
		m := &mad.Message{Attribute: a, REQ: mad.REQ{PathMTU: 9}, REJ: mad.REJ{Reason: 65535, MessageRejected: 3},
			SIDRREP: mad.SIDRREP{Status: 255}}
		w.Packet(f, 0, trace.CM, bth.Packet{Opcode: bth.UDSendOnly, Payload: make([]byte, mad.Len)}, "").MAD = m
	}
	validate(t, s, write(t, w, false))
}

func TestWhatCannotBeDecodedObeysTheSchema(t *testing.T) {
	s := schema(t)
	far := time.Unix(1<<40, 0)
	w := &scene.Script{
		Packets: []*trace.Packet{
			{Number: 1, Part: 1, Parts: 1, Err: errors.New("shorter than the 12-byte BTH"), Doubtful: true},
			{Number: 2, Part: 2, Parts: 3, Err: errors.New("unknown"), Bytes: make([]byte, 12),
				BTH: bth.Packet{Opcode: 0x15, Pad: 3, Version: 15}},
			{Number: 5, Len: 1040, Bytes: make([]byte, 28),
				BTH: bth.Packet{Opcode: bth.RCSendOnly, Payload: make([]byte, 16)}},
			{Number: 3, Time: far, ICRC: trace.ICRC{Verdict: trace.RightAsRxe},
				IP: trace.IP{Version: 6, TrafficClass: 3}},
			{Number: 4, Meaning: "\xff\x00</script>\u2028",
				Findings: []trace.Finding{{Kind: trace.Malformed, Level: 9, Text: "\"\n"}}},
		},
		Messages: []*trace.Message{{Number: 1, Begin: far, End: far.Add(-time.Hour), Done: true}},
		Flows:    []*trace.Flow{{Number: 1, Evicted: true, Begin: far, Last: far, CM: &trace.Managed{Requested: far}}},
	}
	objects := validate(t, s, write(t, w, true))
	if _, ok := objects[0]["bth"]; ok {
		t.Error("a packet without a BTH has one")
	}
	if b := objects[1]["bth"].(map[string]any); b["name"] != "OPCODE_0x15" {
		t.Errorf("the BTH that could be read is %v", b)
	}
	if o := objects[2]; o["captured"] != stdjson.Number("28") || o["payload_len"] != stdjson.Number("1024") {
		t.Errorf("a packet that was cut: %v", o)
	}
	if objects[4]["meaning"] != "\ufffd\x00</script>\u2028" {
		t.Errorf("meaning %q", objects[4]["meaning"])
	}
}

// Without this test the others would pass with a schema that allows everything.
func TestTheSchemaRefuses(t *testing.T) {
	s := schema(t)
	line := bytes.SplitAfter(write(t, scene.Lossy(), false), []byte("\n"))[scene.FrameNAK-1]
	for _, c := range []struct{ name, old, with string }{
		{"an unknown member", `"len":`, `"length":1,"len":`},
		{"a PSN of 25 bits", `"psn":102`, `"psn":16777216`},
		{"a packet without a type", `"type":"packet",`, ``},
		{"another type", `"type":"packet"`, `"type":"frame"`},
		{"a time that is none", `"time":"2026-`, `"time":"26-`},
		{"a level that is none", `"level":"warning"`, `"level":"bad"`},
		{"an ICRC that was checked without its value", `"wire":`, `"wore":`},
	} {
		text := strings.Replace(string(line), c.old, c.with, 1)
		if text == string(line) {
			t.Fatalf("%s: %q does not stand in %s", c.name, c.old, line)
		}
		v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if s.Validate(v) == nil {
			t.Errorf("%s is valid: %s", c.name, text)
		}
	}
}

func TestEveryMemberOfTheSchemaIsDescribed(t *testing.T) {
	var doc any
	if err := stdjson.Unmarshal(json.Schema, &doc); err != nil {
		t.Fatal(err)
	}
	defs := doc.(map[string]any)["$defs"].(map[string]any)
	var walk func(path string, v any)
	walk = func(path string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		properties, _ := m["properties"].(map[string]any)
		for name, p := range properties {
			p, path := p.(map[string]any), path+"."+name
			ref, _ := p["$ref"].(string)
			target, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			if p["description"] == nil && name != "type" && target["description"] == nil {
				t.Errorf("%s has no description", path)
			}
			walk(path, p)
			walk(path+"[]", p["items"])
		}
	}
	for name, d := range defs {
		walk(name, d)
	}
}

func TestPayloadIsThereOnlyIfAskedFor(t *testing.T) {
	s := scene.Lossy()
	for _, secret := range []string{hex.EncodeToString([]byte("hello")), hex.EncodeToString([]byte("private"))} {
		if text := write(t, s, false); bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s is there without having been asked for", secret)
		}
		if text := write(t, s, true); !bytes.Contains(text, []byte(secret)) {
			t.Errorf("%s is not there", secret)
		}
	}
}

func TestObjectsHaveWhatThePacketsHave(t *testing.T) {
	objects := validate(t, schema(t), write(t, scene.Lossy(), false))
	nak := objects[scene.FrameNAK-1]
	number := func(n string) stdjson.Number { return stdjson.Number(n) }
	for name, want := range map[string]any{
		"frame": number("7"), "time": "2026-03-14T15:09:26.536207Z",
		"direction": "in", "flow": number("1"), "role": "ack",
		"len": number("20"), "payload_len": number("0"), "again": nil, "message": nil,
		"aeth": map[string]any{"syndrome": number("96"), "text": "NAK PSN sequence error", "msn": number("0")},
		"udp":  map[string]any{"src_port": number("49152"), "dst_port": number("4791")},
		"findings": []any{map[string]any{
			"kind": "nak_sequence", "level": "warning", "frames": []any{number("6"), number("7")},
			"text": "The responder expected PSN 102 and got 103, so it asks for 102 and all that follow.",
		}},
	} {
		if d := cmp.Diff(want, nak[name]); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	if b := objects[3]["reth"].(map[string]any); b["va"] != "0x00007f3a5c001000" || b["rkey"] != "0x00018a42" {
		t.Errorf("RETH %v", b)
	}
	if m := objects[scene.LossyFrames]; m["type"] != "message" || m["latency_ns"] != number("42000") ||
		m["last_psn"] != number("103") {
		t.Errorf("message %v", m)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestAnErrorOfTheFileIsReturned(t *testing.T) {
	s := scene.Lossy()
	w := json.NewWriter(broken{})
	for _, err := range []error{w.Packet(s.Packets[0]), w.Message(s.Messages[0]), w.Flow(s.Flows[0])} {
		if err == nil || err.Error() != "disk full" {
			t.Errorf("error %v", err)
		}
	}
}
