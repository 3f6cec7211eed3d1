package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorxe/gorxe/verbs"
	"github.com/spf13/pflag"
)

const whole = `
drain = "1m30s"

[log]
level = "debug"
format = "json"

[control]
socket = "/tmp/g.sock"
mode = "0660"
group = "rdma"

[metrics]
listen = ":9481"

[service.rping]
enabled = true
port = 7000

[service]
region = { port = 7001, max_connections = 30, max_per_peer = 20 }
perftest = { enabled = false, port = 1000, memory = "1MiB", foreign_gids = ["2001:db8:1::/48"], payload = "/tmp/p.txt" }

[[device]]
interface = "eth0"
spin = "5us"
shards = 3
loopback = false
gids = ["v6"]
mtu = 1024
max_qp = 100
max_mr = 200
peers = [
  "192.0.2.7/24", # masked
  "2001:db8::1",
]

[[device]]
name = "lo"
address = "127.0.0.1"

[[region]]
name = "a"
size = "2MiB"
access = ["read", "write", "read"]

[[region]]
name = "b"
kind = "file"
path = "/tmp/x"
size = 4096
mode = "0640"
peers = ["10.0.0.0/8"]

[trace]
file = "/tmp/g.pcapng"
size = "2MiB"

[programs]
enabled = false
socket = "/tmp/p.sock"
mode = "0666"
group = "rdma"
idle = "1m"
`

var plain = cmp.Options{cmpopts.IgnoreUnexported(Config{}),
	cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })}

func TestAFileSaysEverything(t *testing.T) {
	got, err := Parse("g.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	prefix := netip.MustParsePrefix
	want := Config{
		Log:      Log{slog.LevelDebug, "json"},
		Control:  Control{"/tmp/g.sock", 0o660, "rdma"},
		Programs: Programs{false, "/tmp/p.sock", 0o666, "rdma", time.Minute},
		Metrics:  Metrics{":9481"},
		Trace:    Trace{"/tmp/g.pcapng", 2 << 20},
		Drain:    90 * time.Second,
		Devices: []Device{
			{Interface: "eth0", Link: "udp", Spin: 5 * time.Microsecond, Shards: 3, Loopback: false,
				GIDs: []string{"v6"}, MTU: 1024, MaxQP: 100, MaxMR: 200,
				Peers: []netip.Prefix{prefix("192.0.2.0/24"), prefix("2001:db8::1/128")}, At: "g.toml:24"},
			{Name: "lo", Address: "127.0.0.1", Link: "udp", Spin: verbs.DefaultSpin, Loopback: true,
				GIDs: []string{"v4", "v6"}, At: "g.toml:38"},
		},
		Rping: Service{true, 7000}, Perftest: Service{false, 1000}, Pingpong: Service{true, 18515},
		SessionMemory: 1 << 20, Payload: "/tmp/p.txt",
		ForeignGIDs: []netip.Prefix{prefix("2001:db8:1::/48")},
		Export:      Export{7001, 30, 20},
		Regions: []Region{
			{Name: "a", Kind: "anonymous", Size: 2 << 20, Mode: 0o600, Access: []string{"read", "write"},
				At: "g.toml:42"},
			{Name: "b", Kind: "file", Path: "/tmp/x", Size: 4096, Mode: 0o640, Access: []string{"read"},
				Peers: []netip.Prefix{prefix("10.0.0.0/8")}, At: "g.toml:47"},
		},
	}
	if diff := cmp.Diff(want, got, plain); diff != "" {
		t.Error(diff)
	}
	if err := got.Check(Features{Rping: true, Pingpong: true, Regions: true}); err != nil {
		t.Error(err)
	}
	if got.Devices[0].Name != got.Devices[0].Interface || got.Devices[1].Name != "lo" {
		t.Errorf("devices are named %s and %s", got.Devices[0].Name, got.Devices[1].Name)
	}
}

func TestNothingIsAConfiguration(t *testing.T) {
	c, err := Parse("empty", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Default(), c, plain); diff != "" {
		t.Error(diff)
	}
	if err := c.Check(Features{Rping: true}); err != nil {
		t.Error(err)
	}
}

// Each case is a file followed by all its mistakes.
func TestWhatIsWrongIsToldWithItsLine(t *testing.T) {
	files, err := filepath.Glob("testdata/wrong/*.toml")
	if err != nil || len(files) < 5 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(line, "#= "); ok {
				want = append(want, strings.TrimSpace(text))
			}
		}
		name := filepath.Base(file)
		c, err := Parse(name, data)
		if err == nil {
			err = c.Check(Features{Perftest: true})
		}
		if diff := cmp.Diff(want, Lines(err)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestLoadReadsAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if _, err := Load(t.Context(), file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of no file: %v", err)
	}
	if err := os.WriteFile(file, []byte("drain = \"1s\""), 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := Load(t.Context(), file); err != nil || c.Drain != time.Second {
		t.Errorf("%v, %v", c.Drain, err)
	}
	if _, err := Parse("big", make([]byte, maxFile+1)); err == nil || !strings.Contains(err.Error(), "the limit is") {
		t.Errorf("of a file too large: %v", err)
	}
}

// An endless file is rejected, or read only up to the limit.
func TestAnEndlessFileIsNotRead(t *testing.T) {
	if _, err := Load(t.Context(), "/dev/zero"); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("Load = %v", err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		for line := []byte("# and so on\n"); err == nil; {
			_, err = w.Write(line)
		}
	}()
	if _, err := Load(t.Context(), fmt.Sprintf("/dev/fd/%d", r.Fd())); err == nil ||
		!strings.Contains(err.Error(), "the limit is") {
		t.Errorf("Load = %v", err)
	}
}

func TestAKeyOfManyLevelsIsRefused(t *testing.T) {
	long := strings.Repeat("k", 100)
	for _, text := range []string{
		strings.Repeat("a.", 50_000) + "z = 1\n",
		strings.Repeat("a . ", 50_000) + "z = 1\n",
		strings.Repeat(`"a".`, 50_000) + "z = 1\n",
		strings.Repeat(`"a b".`, 50_000) + "z = 1\n",
		strings.Repeat(`"".`, 50_000) + "z = 1\n",
		"[" + strings.Repeat("a.", 50_000) + "z]\n",
		"[[" + strings.Repeat("a.", 50_000) + "z]]\n",
		strings.Repeat(long+" = {", 9_000) + "z = 1" + strings.Repeat("}", 9_000) + "\n",
		"a = " + strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000) + "\n",
		"a = {b = " + strings.Repeat("[", 20) + "{" +
			strings.Repeat("c.", 20) + "d = 1}" + strings.Repeat("]", 20) + "}\n",
	} {
		_, err := Parse("x", []byte("drain = \"1s\"\n"+text))
		if err == nil || err.Error() != "x:2: a key or value has more than 32 levels" {
			t.Errorf("Parse of %.40q... = %.100v", text, err)
		}
	}
	// Dots elsewhere do not count as levels.
	dots := strings.Repeat("a.", 100)
	if _, err := Parse("x", []byte("# "+dots+"\n[[device]]\ninterface = \"eth0\" # "+dots+"\n")); err != nil {
		t.Error(err)
	}
}

func TestManyPeersAreRead(t *testing.T) {
	var b strings.Builder
	for i := range 60_000 {
		fmt.Fprintf(&b, "%q,", netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}))
	}
	c, err := Parse("x", []byte("[[device]]\ninterface = \"eth0\"\npeers = ["+b.String()+"]\n"))
	if err != nil || len(c.Devices) != 1 || len(c.Devices[0].Peers) != 60_000 {
		t.Errorf("%d devices, %v", len(c.Devices), err)
	}
}

func flagsOf(t *testing.T, line string) (*Flags, error) {
	t.Helper()
	var f Flags
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Add(fs)
	return &f, fs.Parse(strings.Fields(line))
}

// Flags can express everything that a file can.
func TestEveryOptionIsAFlag(t *testing.T) {
	f, err := flagsOf(t, `--drain 1m30s --log-level debug --log-format=json --control-socket /tmp/g.sock --control-mode 0660 --programs=false --programs-socket /tmp/p.sock --programs-mode 0666 --programs-group rdma --programs-idle 1m
		--control-group rdma --metrics-listen :9481 --trace /tmp/g.pcapng --trace-size 2MiB --rping --rping-port 7000 --region-port 7001 --region-max-connections 30 --region-max-per-peer 20 --perftest=false --perftest-port 1000 --session-memory 1MiB --foreign-gids 2001:db8:1::/48 --perftest-payload /tmp/p.txt
		--device interface=eth0,spin=5us,shards=3,loopback=false,gids=v6,mtu=1024,max_qp=100,max_mr=200,peers=192.0.2.7/24,peers=2001:db8::1
		--device 127.0.0.1,name=lo
		--region name=a,size=2MiB,access=read,access=write
		--region name=b,kind=file,path=/tmp/x,size=4096,mode=0640,peers=10.0.0.0/8`)
	if err != nil {
		t.Fatal(err)
	}
	got := Default()
	if err := f.Apply(&got); err != nil {
		t.Fatal(err)
	}
	want, err := Parse("g.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, plain, cmpopts.IgnoreFields(Device{}, "At"),
		cmpopts.IgnoreFields(Region{}, "At")); diff != "" {
		t.Error(diff)
	}
}

func TestFlagsGoOverTheFile(t *testing.T) {
	c, err := Parse("g.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	f, err := flagsOf(t, "--log-level error --device eth1 --metrics-listen= --rping --foreign-gids 192.0.2.0/24 --foreign-gids 192.0.3.1")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(&c); err != nil {
		t.Fatal(err)
	}
	if c.Log.Level != slog.LevelError || c.Log.Format != "json" || c.Metrics.Listen != "" {
		t.Errorf("%+v, %+v", c.Log, c.Metrics)
	}
	if want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("192.0.3.1/32")}; !slices.Equal(c.ForeignGIDs, want) {
		t.Errorf("%v, want %v", c.ForeignGIDs, want)
	}
	if len(c.Devices) != 1 || c.Devices[0].Interface != "eth1" || c.Devices[0].At != "--device eth1" ||
		len(c.Regions) != 2 {
		t.Errorf("%+v", c.Devices)
	}
	want := "--rping: service rping: this gorxe has no built-in server for it: leave it out or set enabled to false"
	if got := Lines(c.Check(Features{Regions: true})); len(got) != 1 || got[0] != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"--log-level loud":                         `invalid value "loud": use debug, info, warn or error`,
		"--control-mode 0066":                      `invalid value "0066": use an octal mode`,
		"--metrics-listen 9481":                    `invalid value "9481": use an address and a port`,
		"--rping-port 0":                           `invalid value "0": use 1 to 65535`,
		"--device mtus=5":                          `there is no key "mtus": the keys are name, interface,`,
		"--device eth0,eth1":                       `"eth1" is not key=value: the keys are`,
		"--device eth0,mtu=1024,mtu=2048":          `mtu is given twice`,
		"--device eth0,mtu=1000":                   `mtu: invalid value "1000": use 256, 512, 1024, 2048 or 4096, or 0 for`,
		"--region anonymous":                       `"anonymous" is not key=value`,
		"--region name=a,size=9999999999TiB":       `size: invalid value "9999999999TiB"`,
		"--region name=a,access=execute,size=1":    `access: invalid value "execute": use read, write or atomic`,
		"--region name=a,size=1,peers=fe80::1%0":   `peers: invalid value "fe80::1%0": use a network such as`,
		"--device eth0,peers=::ffff:192.0.2.0/120": `peers: invalid value "::ffff:192.0.2.0/120"`,
		"--drain -1s":                              `invalid value "-1s": use a duration`,
	} {
		if _, err := flagsOf(t, line); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", line, err, want)
		}
	}
}

func TestSizesAreHeldAgainstTheirLimits(t *testing.T) {
	const memory = "f:2: service perftest: memory is %s: it must be 64KiB to 1GiB"
	const trace = "f:2: trace: size is %s: it must be 1MiB at least"
	for _, tt := range []struct {
		section, key string
		bytes        uint64
		want         string // with the size; "" if there is none
	}{
		{"service.perftest", "memory", 64<<10 - 1, memory},
		{"service.perftest", "memory", 64 << 10, ""},
		{"service.perftest", "memory", 1 << 30, ""},
		{"service.perftest", "memory", 1<<30 + 1, memory},
		{"trace", "size", 0, trace},
		{"trace", "size", 1<<20 - 1, trace},
		{"trace", "size", 1 << 20, ""},
		{"trace", "size", 1 << 50, ""},
	} {
		c, err := Parse("f", fmt.Appendf(nil, "[%s]\n%s = %d", tt.section, tt.key, tt.bytes))
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		if tt.want != "" {
			want = []string{fmt.Sprintf(tt.want, Size(tt.bytes))}
		}
		if diff := cmp.Diff(want, Lines(c.Check(Features{Perftest: true, Rping: true, Pingpong: true}))); diff != "" {
			t.Errorf("%s.%s = %d:\n%s", tt.section, tt.key, tt.bytes, diff)
		}
	}
}

// A value in a file may exceed a limit if a flag overrides it.
func TestAFlagGoesOverASizeThatIsBeyondItsLimit(t *testing.T) {
	c, err := Parse("f", []byte("[trace]\nsize = 1"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := flagsOf(t, "--trace-size 1MiB")
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Apply(&c); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(Features{Perftest: true, Rping: true, Pingpong: true}); err != nil {
		t.Error(err)
	}
}

func TestValuesAreWrittenAsTheyAreRead(t *testing.T) {
	c, err := Parse("g.toml", []byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	back := Default()
	for _, s := range sections {
		for _, f := range s.fields {
			if v := f.value(&c); v.String() != "" {
				if err := f.value(&back).Set(v.String()); err != nil {
					t.Errorf("%s.%s: %v", s.name, f.key, err)
				}
			}
		}
	}
	back.Devices, back.Regions = c.Devices, c.Regions
	if diff := cmp.Diff(c, back, plain); diff != "" {
		t.Error(diff)
	}
	for n, want := range map[uint64]string{0: "0", 1: "1", 1023: "1023", 1024: "1KiB", 3 << 20: "3MiB",
		1<<40 + 1: "1099511627777", 1 << 50: "1024TiB"} {
		if got := Size(n); got != want {
			t.Errorf("%d is written %s, want %s", n, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(whole))
	files, _ := filepath.Glob("testdata/wrong/*.toml")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Parse("f", data)
		if err == nil {
			err = c.Check(Features{})
		}
		for _, line := range Lines(err) {
			var n int
			if at, _, _ := strings.Cut(line, ": "); !strings.HasPrefix(at, "f:") || !scan(at[2:], &n) || n < 1 ||
				n > strings.Count(string(data), "\n")+1 {
				t.Errorf("%q does not say where in %q", line, data)
			}
		}
	})
}

func scan(s string, n *int) bool {
	v, err := strconv.Atoi(s)
	*n = v
	return err == nil
}

// Only the first mistakes are reported, and the number of the others.
func TestMistakesBeyondAHundredAreCounted(t *testing.T) {
	for n, want := range map[int]int{99: 99, 100: 100, 101: 101, 1000: 101} {
		text := ""
		for i := range n {
			text += fmt.Sprintf("x%d = 1\n", i)
		}
		_, err := Parse("f", []byte(text))
		lines := Lines(err)
		if len(lines) != want {
			t.Errorf("%d mistakes are %d lines, want %d", n, len(lines), want)
		}
		more := fmt.Sprintf("f: %d more errors are not shown", n-100)
		if last := lines[len(lines)-1]; (last == more) != (n > 100) {
			t.Errorf("%d mistakes end with %q", n, last)
		}
	}
}

// The parser's time is quadratic in the number of keys, wherever they are.
func TestAFileWithTooManyKeysIsRefused(t *testing.T) {
	var tables, inline strings.Builder
	for i := range maxKeys + 1 {
		fmt.Fprintf(&tables, "[x%d]\n", i)
		fmt.Fprintf(&inline, "x%d = 1, ", i)
	}
	for text, want := range map[string]string{
		tables.String():                                  "f:10001: the file has more than 10000 keys",
		"x = {" + inline.String() + "last = 1}":          "f:1: the file has more than 10000 keys",
		"\n" + strings.Repeat("[[device]]\n", maxKeys+1): "f:10002: the file has more than 10000 keys",
	} {
		if _, err := Parse("f", []byte(text)); err == nil || err.Error() != want {
			t.Errorf("%.30s: %.200v, want %s", text, err, want)
		}
	}
}
