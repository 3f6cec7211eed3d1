package capture_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/trace/capture"
)

// when is the time of the first frame in generated captures; it needs nanosecond resolution.
var when = time.Unix(1700000000, 123456789).UTC()

// pcapOf returns a pcap file of three frames.
func pcapOf(o binary.AppendByteOrder, magic uint32, unit time.Duration, link uint32) (b []byte, ends []int,
	want []capture.Frame) {
	b = o.AppendUint32(b, magic)
	b = o.AppendUint16(b, 2)
	b = o.AppendUint16(b, 4)
	b = append(b, make([]byte, 8)...)
	b = o.AppendUint32(b, 1000)
	b = o.AppendUint32(b, link)
	ends = []int{len(b)}
	for i, data := range []string{"one", "", "the third"} {
		at := when.Add(time.Duration(i) * time.Second).Truncate(unit)
		b = o.AppendUint32(b, uint32(at.Unix()))
		b = o.AppendUint32(b, uint32(time.Duration(at.Nanosecond())/unit))
		b = o.AppendUint32(b, uint32(len(data)))
		b = o.AppendUint32(b, uint32(len(data)+i))
		b = append(b, data...)
		ends = append(ends, len(b))
		want = append(want, capture.Frame{Number: i + 1, Time: at, Link: capture.LinkType(link), Length: len(data) + i,
			Data: []byte(data)})
	}
	return b, ends, want
}

// frames reads a capture to its end or to an error.
func frames(t *testing.T, r io.Reader) ([]capture.Frame, error) {
	t.Helper()
	c, err := capture.Open(r)
	if err != nil {
		t.Fatal(err)
	}
	out := []capture.Frame{}
	for {
		var f capture.Frame
		if err := c.Next(&f); err != nil {
			if again := c.Next(&f); again != err {
				t.Errorf("%v, and then %v", err, again)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return out, err
		}
		f.Data = bytes.Clone(f.Data)
		out = append(out, f)
	}
}

// Frames yields the frames of Next and the error once, and nothing after the loop ends.
func TestFramesAreThoseOfNext(t *testing.T) {
	whole, _, want := pcapOf(binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 1)
	for _, cut := range []int{0, 3} {
		c, err := capture.Open(bytes.NewReader(whole[:len(whole)-cut]))
		if err != nil {
			t.Fatal(err)
		}
		count, failures := 0, 0
		for f, err := range c.Frames() {
			if err != nil {
				failures++
				if f != nil || !errors.Is(err, io.ErrUnexpectedEOF) || count != len(want)-1 {
					t.Errorf("after %d frames %+v, %v", count, f, err)
				}
				continue
			}
			if f.Number != want[count].Number || !bytes.Equal(f.Data, want[count].Data) {
				t.Errorf("frame %d is %+v", count+1, f)
			}
			count++
		}
		if cut == 0 && (count != len(want) || failures != 0) || cut > 0 && failures != 1 {
			t.Errorf("cut by %d: %d frames and %d errors", cut, count, failures)
		}
	}
	c, err := capture.Open(bytes.NewReader(whole))
	if err != nil {
		t.Fatal(err)
	}
	for range c.Frames() {
		break
	}
	var second capture.Frame
	if err := c.Next(&second); err != nil || second.Number != 2 {
		t.Errorf("after a loop that was left the next frame is %d, %v", second.Number, err)
	}
}

func zipped(b []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()
}

func TestPcapOfEveryKindIsRead(t *testing.T) {
	for _, tt := range []struct {
		name  string
		order binary.AppendByteOrder
		magic uint32
		unit  time.Duration
		link  uint32
	}{
		{"microseconds, little-endian", binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 1},
		{"microseconds, big-endian", binary.BigEndian, 0xa1b2c3d4, time.Microsecond, 113},
		{"nanoseconds, little-endian", binary.LittleEndian, 0xa1b23c4d, time.Nanosecond, 276},
		{"nanoseconds, big-endian", binary.BigEndian, 0xa1b23c4d, time.Nanosecond, 101},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, _, want := pcapOf(tt.order, tt.magic, tt.unit, tt.link)
			for name, r := range map[string]io.Reader{
				"plain": bytes.NewReader(b), "gzip": bytes.NewReader(zipped(b)),
				"byte by byte": iotest.OneByteReader(bytes.NewReader(b)),
			} {
				got, err := frames(t, r)
				if diff := cmp.Diff(want, got); diff != "" || err != nil {
					t.Errorf("%s: %v\n%s", name, err, diff)
				}
			}
		})
	}
}

// The upper 16 bits of a pcap link type report whether frames end with an FCS, and its length.
func TestLinkTypeOfPcapHasSixteenBits(t *testing.T) {
	b, _, _ := pcapOf(binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 0x24000001)
	got, err := frames(t, bytes.NewReader(b))
	if err != nil || got[0].Link != capture.LinkEthernet {
		t.Errorf("%v, %v", got, err)
	}
}

// block returns a pcapng block.
func block(o binary.AppendByteOrder, kind uint32, body ...[]byte) []byte {
	all := bytes.Join(body, nil)
	all = append(all, make([]byte, -len(all)&3)...)
	b := o.AppendUint32(nil, kind)
	b = o.AppendUint32(b, uint32(len(all)+12))
	b = append(b, all...)
	return o.AppendUint32(b, uint32(len(all)+12))
}

func option(o binary.AppendByteOrder, code uint16, value ...byte) []byte {
	b := o.AppendUint16(nil, code)
	b = o.AppendUint16(b, uint16(len(value)))
	b = append(b, value...)
	return append(b, make([]byte, -len(value)&3)...)
}

func words(o binary.AppendByteOrder, w ...uint32) (b []byte) {
	for _, v := range w {
		b = o.AppendUint32(b, v)
	}
	return b
}

func padded(data string) []byte { return append([]byte(data), make([]byte, -len(data)&3)...) }

// sectionOf returns a pcapng section with two interfaces and frames in all kinds of packet
// blocks, between blocks of other types.
func sectionOf(o binary.AppendByteOrder, number int) (b []byte, ends []int, want []capture.Frame) {
	halves := func(v uint64) (uint32, uint32) { return uint32(v >> 32), uint32(v) }
	end := option(o, 0)
	b = append(b, block(o, 0x0a0d0d0a, words(o, 0x1a2b3c4d), o.AppendUint16(o.AppendUint16(nil, 1), 0),
		words(o, 0xffffffff, 0xffffffff), option(o, 4, []byte("a writer")...), end)...)
	ends = append(ends, len(b))
	add := func(kind uint32, body ...[]byte) {
		b = append(b, block(o, kind, body...)...)
		ends = append(ends, len(b))
	}
	add(1, o.AppendUint16(o.AppendUint16(nil, 1), 0), words(o, 0), option(o, 2, []byte("eth0")...),
		option(o, 9, 9), end)
	// binary fractions of a second, and an offset
	add(1, o.AppendUint16(o.AppendUint16(nil, 276), 0), words(o, 12), option(o, 2, []byte("any\x00")...),
		option(o, 9, 0x80|10), option(o, 14, o.AppendUint64(nil, 1600000000)...))
	add(1, o.AppendUint16(o.AppendUint16(nil, 101), 0), words(o, 0))
	add(5, make([]byte, 12)) // interface statistics
	hi, lo := halves(uint64(when.UnixNano()))
	add(6, words(o, 0, hi, lo, 5, 1500), padded("first"), option(o, 1, []byte("it is \xff the first")...),
		option(o, 2, 0, 0, 0, 0), option(o, 1, []byte("really")...), option(o, 2988, 1, 2, 3, 4), end,
		[]byte("after the end mark, this is no option"))
	want = append(want, capture.Frame{Time: when, Link: 1, Interface: "eth0", Length: 1500, Data: []byte("first"),
		Comments: []string{"it is \ufffd the first", "really"}})
	flags := o.AppendUint32(nil, 0x1fe)
	add(6, words(o, 1, 0, 1024*5+512, 4, 4), padded("2222"), option(o, 2, flags...))
	want = append(want, capture.Frame{Time: time.Unix(1600000005, 5e8).UTC(), Link: 276, Interface: "any", Length: 4,
		Data: []byte("2222"), Direction: capture.Outbound})
	add(0x40000bad, make([]byte, 20))
	add(2, o.AppendUint16(o.AppendUint16(nil, 2), 77), words(o, 0, 1000001, 3, 2), padded("333"),
		option(o, 2, o.AppendUint32(nil, 1)...), end)
	want = append(want, capture.Frame{Time: time.Unix(1, 1000).UTC(), Link: 101, Length: 3, Data: []byte("333"),
		Direction: capture.Inbound})
	add(3, words(o, 100), padded("simple"))
	want = append(want, capture.Frame{Link: 1, Interface: "eth0", Length: 100, Data: padded("simple")})
	for i, id := range []int{1, 2, 3, 1} {
		want[i].Number, want[i].InterfaceID = number+i, id
	}
	return b, ends, want
}

func TestPcapngOfAllKindsOfBlocksIsRead(t *testing.T) {
	little, _, want := sectionOf(binary.LittleEndian, 1)
	big, _, more := sectionOf(binary.BigEndian, 1+len(want))
	b := append(little, big...)
	for name, b := range map[string][]byte{"plain": b, "gzip": zipped(b)} {
		got, err := frames(t, bytes.NewReader(b))
		if diff := cmp.Diff(append(want, more...), got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// A file that is truncated anywhere yields all frames before; within a record, also an error.
func TestATruncatedFileGivesWhatItHas(t *testing.T) {
	pcap, pcapEnds, pcapFrames := pcapOf(binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 1)
	ng, ngEnds, ngFrames := sectionOf(binary.LittleEndian, 1)
	for _, tt := range []struct {
		name   string
		file   []byte
		ends   []int
		frames []capture.Frame
	}{{"pcap", pcap, pcapEnds, pcapFrames}, {"pcapng", ng, ngEnds, ngFrames}} {
		t.Run(tt.name, func(t *testing.T) {
			most := 0
			for n := tt.ends[0]; n <= len(tt.file); n++ {
				got, err := frames(t, bytes.NewReader(tt.file[:n]))
				most = max(most, len(got))
				if diff := cmp.Diff(tt.frames[:len(got)], got); diff != "" {
					t.Fatalf("%d bytes:\n%s", n, diff)
				}
				last := 0
				for _, e := range tt.ends {
					if e <= n {
						last = e
					}
				}
				var re *capture.ReadError
				switch {
				case last == n && err != nil:
					t.Errorf("%d bytes: %v", n, err)
				case last != n && (!errors.As(err, &re) || !errors.Is(err, io.ErrUnexpectedEOF)):
					t.Errorf("%d bytes: %v, want that the file ends inside something", n, err)
				case last != n && (re.Frame != len(got)+1 || re.Offset != int64(last)):
					t.Errorf("%d bytes: %v, want frame %d at %d", n, err, len(got)+1, last)
				}
			}
			if most != len(tt.frames) {
				t.Errorf("%d frames, want %d", most, len(tt.frames))
			}
		})
	}
}

func TestWhatIsNoCaptureIsRefusedAtOnce(t *testing.T) {
	head, _, _ := pcapOf(binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 1)
	old := bytes.Clone(head)
	old[4] = 1
	for _, tt := range []struct {
		name, file, want string
	}{
		{"nothing", "", "0 bytes"},
		{"three bytes", "abc", "3 bytes"},
		{"text", "hello world", "68656c6c"},
		{"zstd", "\x28\xb5\x2f\xfd....", "zstd -dc FILE"},
		{"xz", "\xfd7zXZ...", "xz -dc FILE"},
		{"snoop", "snoop...", "editcap"},
		{"gzip of text", string(zipped([]byte("hello world"))), "68656c6c"},
		{"gzip of nothing", string(zipped(nil)), "0 bytes"},
		{"broken gzip", "\x1f\x8b....", "like a gzip file"},
		{"pcap's header cut", string(head[:23]), "ends inside the header (23 of 24 bytes"},
		{"pcap of version 1", string(old), "version 1.4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := capture.Open(strings.NewReader(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %q", err, tt.want)
			}
		})
	}
}

func TestADamagedFileIsReadUpToTheDamage(t *testing.T) {
	o := binary.LittleEndian
	head := block(o, 0x0a0d0d0a, words(o, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff))
	iface := block(o, 1, words(o, 1, 0))
	good := block(o, 6, words(o, 0, 0, 0, 3, 3), padded("abc"))
	pcap, ends, _ := pcapOf(o, 0xa1b2c3d4, time.Microsecond, 1)
	damaged := bytes.Clone(pcap)
	o.PutUint32(damaged[ends[1]+8:], 1<<18+1)
	cat := func(b ...[]byte) []byte { return bytes.Join(b, nil) }
	set := func(b []byte, at int, v byte) []byte {
		b = bytes.Clone(b)
		b[at] = v
		return b
	}
	zip := zipped(cat(head, iface, good))
	for _, tt := range []struct {
		name   string
		file   []byte
		frames int
		want   string
	}{
		{"pcap, too long a frame", damaged, 1, "frame 2, at byte 43: 262145 bytes"},
		{"block of 8 bytes", cat(head, iface, good, words(o, 6, 8)), 1,
			"block of type 0x6 with invalid length 8: damaged"},
		{"block of 33 bytes", cat(head, iface, good, words(o, 6, 33)), 1,
			"block of type 0x6 with invalid length 33: damaged"},
		{"block of 2 GB", cat(head, iface, good, words(o, 6, 1<<31)), 1, "has 2147483648 bytes"},
		{"lengths that differ", cat(head, iface, good, set(good, len(good)-4, 40)), 1,
			"36 bytes at its beginning and 40 at its end"},
		{"no such interface", cat(head, iface, good, set(good, 8, 1)), 1,
			"interface 1, and its section has described 1"},
		{"simple, without an interface", cat(head, block(o, 3, words(o, 4), padded("abcd"))), 0,
			"interface 0, and its section has described 0"},
		{"more than the block has", cat(head, iface, good, set(good, 20, 5)), 1,
			"5 bytes of the frame are said to be captured"},
		{"more than a frame has", cat(head, iface, good, set(good, 23, 5)), 1, "no frame has more"},
		{"short section", block(o, 0x0a0d0d0a, words(o, 0x1a2b3c4d, 1, 0)), 0, "needs 16"},
		{"section of version 2", cat(set(head, 12, 2), iface), 0, "version 2.0"},
		{"section without byte order", cat(head, set(head, 8, 9)), 0, "byte order"},
		{"short interface", cat(head, block(o, 1, words(o, 1))), 0, "needs 8"},
		{"short packet", cat(head, iface, block(o, 6, words(o, 1))), 0, "needs 20"},
		{"short simple packet", cat(head, iface, block(o, 3)), 0, "needs 4"},
		{"clock of no such fineness", cat(head, block(o, 1, words(o, 1, 0), option(o, 9, 20))), 0, "resolution 0x14"},
		{"binary clock of no such fineness", cat(head, block(o, 1, words(o, 1, 0), option(o, 9, 0xc0))), 0,
			"resolution 0xc0"},
		{"option beyond its block", cat(head, iface, good,
			block(o, 6, words(o, 0, 0, 0, 0, 0), []byte{1, 0, 9, 0, 'x', 0, 0, 0})), 1, "option 1"},
		{"gzip cut", zip[:len(zip)-9], -1, "ends inside"},
		{"gzip damaged", set(zip, len(zip)-8, 99), -1, "checksum"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := frames(t, bytes.NewReader(tt.file))
			if err == nil || !strings.Contains(err.Error(), tt.want) || tt.frames >= 0 && len(got) != tt.frames {
				t.Errorf("%d frames, %v, want %d and %q", len(got), err, tt.frames, tt.want)
			}
		})
	}
}

// A file may describe 65,536 interfaces, whose names are kept while it is read.
func TestLongNamesOfInterfacesAreCut(t *testing.T) {
	o := binary.LittleEndian
	name := bytes.Repeat([]byte("n"), 60_000)
	file := slices.Concat(
		block(o, 0x0a0d0d0a, words(o, 0x1a2b3c4d, 1, 0xffffffff, 0xffffffff)),
		block(o, 1, words(o, 1, 0), option(o, 2, name...)),
		block(o, 6, words(o, 0, 0, 0, 3, 3), padded("abc")),
	)
	got, err := frames(t, bytes.NewReader(file))
	if err != nil || len(got) != 1 || got[0].Interface != string(name[:256]) {
		t.Errorf("%d frames, %v, the name has %d bytes, want 256", len(got), err, len(got[0].Interface))
	}
}

func TestAnErrorOfTheReaderIsPassedOn(t *testing.T) {
	broken := errors.New("the disk is gone")
	b, ends, _ := pcapOf(binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 1)
	got, err := frames(t, io.MultiReader(bytes.NewReader(b[:ends[2]+3]), iotest.ErrReader(broken)))
	if len(got) != 2 || !errors.Is(err, broken) {
		t.Errorf("%d frames, %v", len(got), err)
	}
	if _, err := capture.Open(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Error(err)
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	head, ends, _ := pcapOf(binary.LittleEndian, 0xa1b2c3d4, time.Microsecond, 1)
	section, ngEnds, _ := sectionOf(binary.LittleEndian, 1)
	for name, tt := range map[string]struct{ first, again []byte }{
		"pcap":   {head, head[ends[0]:]},
		"pcapng": {section[:ngEnds[5]], section[ngEnds[6]:]}, // without the frame that has comments
	} {
		t.Run(name, func(t *testing.T) {
			c, err := capture.Open(io.MultiReader(bytes.NewReader(tt.first), &endless{b: tt.again}))
			if err != nil {
				t.Fatal(err)
			}
			var f capture.Frame
			if n := testing.AllocsPerRun(1000, func() {
				if err := c.Next(&f); err != nil {
					t.Fatal(err)
				}
			}); n != 0 {
				t.Errorf("%v allocations", n)
			}
		})
	}
}

// endless repeats b.
type endless struct {
	b  []byte
	at int
}

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.b[e.at:])
	e.at = (e.at + n) % len(e.b)
	return n, nil
}
