package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// programsPage returns docs/programs.md up to a section, and that section.
func programsPage(t *testing.T, section string) (before, text string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/programs.md")
	if err != nil {
		t.Fatal(err)
	}
	before, text, ok := strings.Cut(string(page), "\n## "+section+"\n")
	if !ok {
		t.Fatalf("the page has no section %s", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return before, text
}

// The commands of docs/programs.md before the section on containers, which need a runtime, do
// what their comments say. They run with the addresses and the interface of the test, and with
// fewer iterations.
func TestTheCommandsOfTheProgramsPage(t *testing.T) {
	needPrograms(t, "ibv_devinfo", "ib_write_bw", "rping")
	page, _ := programsPage(t, "In containers")
	left, right := newNetHosts(t, 62)
	p := newPlace(t)
	if out, err := p.run(left.enter() + "ip link set lo up"); err != nil { // for packets of the host to itself
		t.Fatalf("%v\n%s", err, out)
	}
	says := map[string]string{
		"ibv_devinfo": "hca_id:\trxe0", "ib_write_bw": "#bytes", "rping": "rdma-ping-9:", "bash": "",
	}
	var server *running
	count := 0
	for line := range commands(page) {
		count++
		line, comment, _ := strings.Cut(line, "#")
		_, program, _ := strings.Cut(line, " -- ")
		program = strings.Fields(program)[0]
		on := left
		if strings.Contains(line, "192.0.2.7") { // of another host
			on = right
		}
		line = on.enter() + strings.NewReplacer("192.0.2.7", left.v4.String(), "192.0.2.1", left.v4.String(),
			"eth0", "veth0", "ib_write_bw", "ib_write_bw -F -n 200").Replace(strings.TrimSpace(line))
		if strings.HasPrefix(comment, " server") {
			if server = p.background(line); program == "ib_write_bw" {
				left.awaitPort(t, 18515)
			}
			continue
		}
		var out string
		until(t, line+" does not succeed", func() bool {
			var err error
			out, err = p.run(line)
			if err != nil && program != "rping" { // rping fails before its server listens
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			return err == nil
		})
		want, known := says[program]
		if !known || !strings.Contains(out, want) {
			t.Errorf("%s:\n%s", line, out)
		}
		if server != nil {
			if err := server.Wait(); err != nil {
				t.Errorf("the server of %s: %v\n%s", line, err, &server.out)
			}
			server = nil
		}
	}
	if count != 10 {
		t.Errorf("the page has %d commands", count)
	}
}

// The CI job in docs/programs.md installs packages that this repository's own CI has, builds the
// command in the working tree, and runs a Makefile with both ends of a test.
func TestTheJobOfTheProgramsPage(t *testing.T) {
	needPrograms(t, "ib_write_bw", "make")
	_, section := programsPage(t, "In CI")
	var runs []string
	for _, m := range regexp.MustCompile(`(?m)^ +- run: (.*)$`).FindAllStringSubmatch(section, -1) {
		runs = append(runs, m[1])
	}
	if len(runs) != 3 || !strings.HasPrefix(runs[2], "gorxe run -- ") {
		t.Fatalf("the job runs %q", runs)
	}
	have, err := os.ReadFile("../../.ci/packages")
	if err != nil {
		t.Fatal(err)
	}
	_, packages, _ := strings.Cut(runs[0], "install -y ")
	for _, name := range strings.Fields(packages) {
		if !strings.Contains("\n"+string(have), "\n"+name+"\n") {
			t.Errorf("the job installs %s, which .ci/packages lacks", name)
		}
	}
	if dir := strings.TrimPrefix(runs[1], "cd gorxe && go install "); dir != "./cmd/gorxe" {
		t.Errorf("the job builds by %q", runs[1])
	}
	p := newPlace(t)
	const makefile = `test:
	ib_write_bw -F -n 200 -p 21970 & until ib_write_bw -F -n 200 -p 21970 localhost; do :; done; wait
`
	if err := os.WriteFile(filepath.Join(p.dir, "Makefile"), []byte(makefile), 0o644); err != nil {
		t.Fatal(err)
	}
	p.asUser()
	line := strings.Replace(runs[2], "gorxe run", "gorxe run -d 127.55.11.37", 1)
	if out, err := p.run(line); err != nil || strings.Count(out, "#bytes") != 2 {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}
