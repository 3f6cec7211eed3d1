package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestWrongFlagsAreNamed(t *testing.T) {
	for line, want := range map[string]string{
		"-rounds 0":                   `-rounds 0: must be 1 to 1000`,
		"-time 0":                     `-time 0: must be 1 to 600`,
		"-again -1":                   `-again -1: must be 0 to 1000`,
		"-slice 2s -beside x=/bin/sh": `-slice 2s: must be 1ms to 1s`,
		"-slice 50ms -beside x=/bin/sh -beside y=/bin/sh": `-slice: it takes one -beside at most, not 2`,
		"-slice 50ms -run qperf":                          `-slice: -run leaves no ratio of two that can be stopped now and then; -list shows what there is`,
		"-slice 50ms -beside x=/bin/sh -again 1":          `-slice and -again do not go together: what disturbs a pair disturbs both alike`,
		"-slice 50ms -beside x=/bin/sh -run iperf3":       `-slice: -run leaves no two builds of gorxe perf; -list shows what there is`,
		"-beside x=/nowhere/x":                            `invalid value "x=/nowhere/x" for flag -beside: there is no file /nowhere/x`,
		"-beside /bin/sh":                                 `invalid value "/bin/sh" for flag -beside: want name=file`,
		"-cores 1":                                        `-cores 1: name two, such as 0,1`,
		"-cores 0,b":                                      `-cores: "b" is not a number`,
		"-run nothing":                                    `-run nothing: nothing matches; -list shows what there is`,
		"-run (":                                          "-run: error parsing regexp: missing closing ): `(`",
		"-links tcp":                                      `-links tcp: there is ` + strings.Join(kinds(), ", "),
		"-render a -json b":                               `-render and -json do not go together: nothing is measured`,
		"now":                                             `now: flags only`,
		"-gorxe /nowhere/gorxe":                           `-gorxe: there is no file /nowhere/gorxe; make build makes bin/gorxe`,
		"blast host other":                                `blast: name one host, behind the flags`,
		"bounce host other":                               `bounce: name one host, behind the flags`,
		"busy now":                                        `busy: it takes no arguments`,
		"starts -time 1s":                                 `starts: name the program, behind the flags`,
		"starts /nowhere/x":                               `starts: /nowhere/x: fork/exec /nowhere/x: no such file or directory`,
		"-render /nowhere/r.json":                         `open /nowhere/r.json: no such file or directory`,
	} {
		err := run(t.Context(), strings.Fields(line), io.Discard, io.Discard)
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

func TestListNamesEveryContender(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"-list", "-links", "udp", "-run", "bandwidth/|loss/"}, &out,
		io.Discard); err != nil {
		t.Fatal(err)
	}
	const want = `Bandwidth, in Gbit/s
  bandwidth/iperf3, TCP
  bandwidth/iperf3, TCP cubic
  bandwidth/bare UDP, GSO and GRO
  bandwidth/bare UDP, cut as WRITEs are
  bandwidth/bare loop, ICRC and copy
  bandwidth/bare loop, ICRC and two copies
  bandwidth/bare loop, requests and two copies
  bandwidth/bare loop, socket as a link's
  bandwidth/gorxe udp: WRITE
  bandwidth/gorxe udp: READ
  bandwidth/gorxe udp: WRITE of 8 KiB
  bandwidth/gorxe udp: SEND
Goodput under loss, in Gbit/s
  loss/bare loop, no loss
  loss/bare loop, 0.1 % lost
  loss/bare loop, 1 % lost
  loss/gorxe udp: no loss
  loss/gorxe udp: 0.1 % lost
  loss/gorxe udp: 1 % lost
`
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}
