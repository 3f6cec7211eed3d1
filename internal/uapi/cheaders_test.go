package uapi

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// newer lists the names that the headers of Debian 12 (Linux 6.1, rdma-core 44) lack. They are
// not compared unless GORXE_UAPI_INCLUDE names a folder with newer headers.
var newer = map[string]string{
	"IB_UVERBS_ACCESS_FLUSH_GLOBAL":     "Linux 6.2: FLUSH",
	"IB_UVERBS_ACCESS_FLUSH_PERSISTENT": "Linux 6.2: FLUSH",
	"IB_UVERBS_DEVICE_FLUSH_GLOBAL":     "Linux 6.2: FLUSH",
	"IB_UVERBS_DEVICE_FLUSH_PERSISTENT": "Linux 6.2: FLUSH",
	"IB_UVERBS_DEVICE_ATOMIC_WRITE":     "Linux 6.2: ATOMIC WRITE",
	"IB_UVERBS_WR_FLUSH":                "Linux 6.2: FLUSH",
	"IB_UVERBS_WR_ATOMIC_WRITE":         "Linux 6.2: ATOMIC WRITE",
	"IBV_WC_FLUSH":                      "rdma-core 46: FLUSH",

	"offsetof(struct rxe_send_wr, wr.flush.remote_addr)": "Linux 6.2: FLUSH",
	"offsetof(struct rxe_send_wr, wr.flush.length)":      "Linux 6.2: FLUSH",
	"offsetof(struct rxe_send_wr, wr.flush.rkey)":        "Linux 6.2: FLUSH",
	"offsetof(struct rxe_send_wr, wr.flush.type)":        "Linux 6.2: FLUSH",
	"offsetof(struct rxe_send_wr, wr.flush.level)":       "Linux 6.2: FLUSH",
}

// renamed lists the fields that have another name or extent in newer headers.
var renamed = map[string]string{
	"ib_uverbs_query_port_resp_ex.reserved": "its last four bytes became active_speed_ex",
}

// includeEnv names a folder with headers to compare with instead of the system's.
const includeEnv = "GORXE_UAPI_INCLUDE"

// A question is an expression in C and its required value.
type question struct {
	expr string
	want uint64
}

// askC compiles a program that prints the values of the expressions, and compares them.
func askC(t *testing.T, headers []string, questions []question) {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("no C compiler: install gcc and libc6-dev")
	}
	var args []string
	if dir := os.Getenv(includeEnv); dir != "" {
		args = append(args, "-I", dir)
	}
	var src strings.Builder
	src.WriteString("#include <stddef.h>\n#include <stdio.h>\n")
	for _, h := range headers {
		fmt.Fprintf(&src, "#include <%s>\n", h)
	}
	pre := exec.Command(cc, append(args, "-E", "-x", "c", "-o", os.DevNull, "-")...)
	pre.Stdin = strings.NewReader(src.String())
	if out, err := pre.CombinedOutput(); err != nil {
		if !strings.Contains(string(out), "No such file") && !strings.Contains(string(out), "not found") {
			t.Fatalf("%s: %v\n%.3000s", cc, err, out)
		}
		t.Skipf("headers are missing, install linux-libc-dev, or libibverbs-dev and librdmacm-dev: %.300s", out)
	}
	src.WriteString("int main(void) {\n")
	for _, q := range questions {
		fmt.Fprintf(&src, "\tprintf(\"%%llu\\n\", (unsigned long long)(%s));\n", q.expr)
	}
	src.WriteString("\treturn 0;\n}\n")

	dir := t.TempDir()
	file, bin := filepath.Join(dir, "abi.c"), filepath.Join(dir, "abi")
	if err := os.WriteFile(file, []byte(src.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(cc, append(args, "-o", bin, file)...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%.3000s", cc, err, out)
	}
	out, err := exec.Command(bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := strings.Fields(string(out))
	if len(answers) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(answers), len(questions))
	}
	for i, q := range questions {
		got, err := strconv.ParseUint(answers[i], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got != q.want {
			t.Errorf("%s is %d in C, %d in Go", q.expr, got, q.want)
		}
	}
}

// leaveOut reports whether a name is not compared.
func leaveOut(c string) bool {
	return newer[c] != "" && os.Getenv(includeEnv) == ""
}

func kernelHeader(h string) bool { return h != headerLibibverbs && h != headerLibrdmacm }

func TestStructsAndConstantsAreThoseOfTheKernelHeaders(t *testing.T) {
	var questions []question
	fields := 0
	for _, s := range Structs() {
		questions = append(questions, question{"sizeof(struct " + s.C + ")", uint64(SizeOf(s.Value))})
		typ, offset := reflect.TypeOf(s.Value), 0
		for i := range typ.NumField() {
			c := typ.Field(i).Tag.Get("c")
			size := SizeOf(reflect.Zero(typ.Field(i).Type).Interface())
			questions = append(questions, question{fmt.Sprintf("offsetof(struct %s, %s)", s.C, c), uint64(offset)})
			if renamed[s.C+"."+c] == "" || os.Getenv(includeEnv) == "" {
				questions = append(questions,
					question{fmt.Sprintf("sizeof(((struct %s *)0)->%s)", s.C, c), uint64(size)})
			}
			fields++
			offset += size
		}
	}
	constants := 0
	for _, c := range Constants() {
		if kernelHeader(c.Header) && !leaveOut(c.C) {
			questions = append(questions, question{c.C, c.Value})
			constants++
		}
	}
	askC(t, []string{
		headerVerbs, headerIoctl, headerIoctlCmds, headerIoctlVerbs,
		headerCM, headerSA, headerRXE, headerErrno,
	}, questions)
	t.Logf("compared %d structs, %d fields, %d constants", len(Structs()), fields, constants)
}

func TestConstantsAreThoseOfRdmaCore(t *testing.T) {
	for _, h := range []string{headerLibibverbs, headerLibrdmacm} {
		t.Run(filepath.Base(h), func(t *testing.T) {
			var questions []question
			for _, c := range Constants() {
				if c.Header == h && !leaveOut(c.C) {
					questions = append(questions, question{c.C, c.Value})
				}
			}
			askC(t, []string{h}, questions)
			t.Logf("compared %d constants", len(questions))
		})
	}
}

func TestNamesLeftOutOfTheComparisonExist(t *testing.T) {
	left := map[string]bool{}
	for _, c := range Constants() {
		left[c.C] = true
	}
	for c := range newer {
		if !left[c] {
			t.Errorf("%s is no constant of the package", c)
		}
	}
}
