package tracecmd

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/internal/cli/app"
	"github.com/gorxe/gorxe/internal/cli/clitest"
)

func TestFlagsOfTsharkSelectPacketsTimesAndFields(t *testing.T) {
	local := time.Local
	time.Local = time.UTC
	defer func() { time.Local = local }()
	for _, tt := range []struct{ line, want string }{
		{"trace -T fields -e frame.number -e infiniband.bth.psn -e infiniband.bth.destqp",
			"1\t5\t0x000011\n2\t5\t0x000012\n3\t6\t0x000012\n"},
		{"trace -c 2 -T fields -e frame -e op", "1\tsend\n2\tacknowledge\n"},
		{"trace -c 1 --filter ack -T fields -e frame", "2\n"},
		{"trace -T fields -E header=y -E separator=, -e psn -e verb --filter nak", "psn,verb\n6,\n"},
		{"trace -T fields -e frame.time_relative -c 2", "0.000000000\n0.001000000\n"},
		{"trace -T text -c 1 -t ad", "2023-11-14 22:13:20.000000"},
		{"trace -c 1 -t e", "1700000000.000000"},
		{"trace -c 1", "      1      0.000000"},
		{"trace -c 1 --flows", "flow 1  RC"},
		{"trace -c 1 --json --messages", `"type":"message"`},
	} {
		w := newWorld()
		w.Stdin = bytes.NewReader(aConversation(t))
		r := w.Run(t.Context(), tt.line)
		clitest.MustSucceed(t, tt.line, r)
		out := r.Stdout.String()
		if strings.Contains(tt.line, "fields") && out != tt.want || !strings.Contains(out, tt.want) ||
			strings.Contains(tt.line, "-c 1") && strings.Count(out, "\n") > 2 {
			t.Errorf("%s: %q, want %q", tt.line, out, tt.want)
		}
	}
}

func TestFlagsThatContradictFieldsAndTimesAreRejected(t *testing.T) {
	for line, want := range map[string]string{
		"-c 0":                          "-c 0: must be 1 to 2147483647",
		"-t x":                          `-t: "x" is no time format; the formats are r, a, ad, d, dd, e, u, ud`,
		"-T json":                       `-T "json": choose text or fields; --json writes JSON`,
		"-T fields":                     "-T fields: select fields with -e, such as -e frame.number -e infiniband.bth.psn",
		"-e psn":                        "-e and -E are for -T fields",
		"-E header=y":                   "-e and -E are for -T fields",
		"-T fields -e psm":              `-e: unknown field "psm", did you mean "psn"?`,
		"-T fields -e psn -E quote=x":   `-E "quote=x": "x" is not one of its values`,
		"-T fields -e psn --json":       "-T fields and --json replace the lines of packets: omit one of them",
		"-T fields -e psn --messages":   "-T fields and --messages replace the lines of packets: omit one of them",
		"-T fields -e psn -v":           "-v is for the lines of packets, which -T fields replaces: omit one of them",
		"-T fields -e psn -t a":         "-t is for the lines of packets, which -T fields replaces: omit one of them",
		"-t a --flows":                  "-t is for the lines of packets, which --flows replaces: omit one of them",
		"-T fields -e psn --explain -c": "-c needs a value; see 'gorxe trace --help'",
	} {
		r := newWorld().Run(t.Context(), "trace "+line)
		if r.Code != app.ExitUsage || r.Stderr.String() != "gorxe: "+want+"\n" {
			t.Errorf("%s: %v\nwant %q", line, r, want)
		}
	}
}
