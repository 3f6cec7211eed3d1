package broker

import (
	"bytes"
	"reflect"
	"testing"
)

func TestAMessageIsReadAsItWasWritten(t *testing.T) {
	for _, f := range []frame{
		{kind: kindHello, data: []byte("{}")},
		{kind: kindCall, flags: flagWrite, call: 1, object: 2, process: 3, arg: 1 << 63, size: 3, data: []byte("abc")},
		{kind: kindCall, call: 1<<32 - 1, object: 2, process: 3, cmd: 0xc0181b01, arg: 7, data: []byte{}},
		{kind: kindInstalled, call: 9, errno: maxErrno, arg: 1 << 40, data: []byte{}},
	} {
		got, err := parse(f.appendTo(nil), false, 0)
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%+v, %v; want %+v", got, err, f)
		}
	}
}

func TestEveryKindHasARule(t *testing.T) {
	for k := kind(1); k < numKinds; k++ {
		if rules[k].name == "" {
			t.Errorf("kind %d has none", k)
		}
	}
}

func TestDefaultLimitsLeaveDescriptorsForOthers(t *testing.T) {
	for _, have := range []uint64{256, 1024, 4096, 65536, 1 << 40} {
		l, sum := DefaultLimits(have), 0
		for r, b := range l {
			sum += b.All * resources[r].descriptors
			if b.Client < 1 || b.Client > b.User || b.User > b.All {
				t.Errorf("%d descriptors: %s: %+v", have, resources[r].name, b)
			}
		}
		if uint64(sum) > have/4*3 {
			t.Errorf("%d descriptors: all take %d", have, sum)
		}
	}
}

// A message is rejected, or encodes to the same bytes.
func FuzzParse(f *testing.F) {
	f.Add((&frame{kind: kindOpen, call: 1, process: 2}).appendTo(nil), false, 3)
	f.Add((&frame{kind: kindReply, call: 1, object: 2}).appendTo(nil), true, 1)
	f.Add([]byte{}, false, 0)
	f.Fuzz(func(t *testing.T, b []byte, fromServer bool, files int) {
		m, err := parse(b, fromServer, files)
		if err != nil {
			return
		}
		if again := m.appendTo(nil); !bytes.Equal(again, b) {
			t.Errorf("%x is written as %x", b, again)
		}
		if r := rules[m.kind]; r.fromServer != fromServer || files > maxFiles || len(m.data) > r.maxData {
			t.Errorf("%+v", m)
		}
	})
}
