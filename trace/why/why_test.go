package why

import (
	"bytes"
	"io"
	"net/netip"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/golden"
)

var (
	local  = netip.MustParseAddr("198.18.0.1")
	remote = netip.MustParseAddr("198.18.0.2")
)

// Lines of each format, what they say, and the cause in a capture of what went wrong.
var lines = []struct {
	name, line string
	want       Complaint
	talk       string
	cause      string
}{
	{"NCCL, text of 2.18 and later", formatNamed("net_ib.cc:2453"),
		Complaint{Status: RetryExc, Local: local, Remote: remote, Socket: netip.MustParseAddr("10.99.91.63"), Op: "0"},
		"silent", "198.18.0.2/0x000022 fell silent: requests pass the capture point and no response comes back"},
	{"NCCL, text of 2.28", "[2026-09-09 10:46:33] ubuntu2:319733:319761 [1] transport/net_ib/p2p.cc:648 NCCL WARN " +
		"NET/IB: Got completion from peer 10.153.235.13<40554> with status=IBV_WC_REM_ACCESS_ERR(10) " +
		"opcode=IBV_WC_RDMA_WRITE(1) vendor_err=136 localGid ::ffff:198.18.0.1 remoteGids::ffff:198.18.0.2 hca " +
		"mlx5_1",
		Complaint{Status: RemAccess, Local: local, Remote: remote, Socket: netip.MustParseAddr("10.153.235.13"),
			Op: "IBV_WC_RDMA_WRITE"},
		"bad key", "refuses the WRITE of frame 21 with NAK remote access error"},
	{"NCCL, text of 2.10", "node-2:5776:5902 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from " +
		"peer 198.18.0.2<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)",
		Complaint{Status: RetryExc, Socket: remote, Op: "0"}, "requests lost",
		"PSN 105 was lost on each attempt: 198.18.0.2/0x000022 received later packets and requested it 8 times"},
	{"NCCL, the queue pair", formatNamed("ncclIbTest: Got CQE"), Complaint{Status: NoStatus, QPN: 0x11}, "responses " +
		"lost",
		"responses are lost: 198.18.0.2/0x000022 answered PSN 105 8 times"},
	{"NCCL, GPU-initiated", formatNamed("GDAKI"), Complaint{Status: RetryExc, QPN: 0x11}, "silent", "fell silent"},
	{"NCCL, asynchronous event", formatNamed("async fatal event"), Complaint{Status: RemAccess, Responder: true},
		"bad key",
		"refuses the WRITE"},
	{"UCX, the work request", formatNamed("RC QP 0x11"), Complaint{Status: NoStatus, QPN: 0x11, PeerQPN: 0x22,
		Remote: remote,
		Op:     "RDMA_READ", RKey: 0x204c00, Address: 0x555e73f}, "one direction",
		"198.18.0.2/0x000022 still sends requests, but no response"},
	{"UCX, old", formatNamed("Error on QP"), Complaint{Status: RetryExc, QPN: 0x11, Op: "SEND"}, "silent", "fell " +
		"silent"},
	{"UCX", formatNamed("on mlx5_0:1/RoCE"), Complaint{Status: RetryExc}, "silent", "fell silent"},
	{"UCX, receiver not ready", "ib_mlx5_log.c:177  Receive-no-ready retry count exceeded on mlx5_0:1/RoCE (synd " +
		"0x16 vend 0x97 hw_synd 0/0)", Complaint{Status: RNRRetryExc}, "no receive",
		"198.18.0.2/0x000022 had no receive posted: 8 RNR NAKs within 5.04ms"},
	{"perftest", formatNamed("syndrom 0x81"), Complaint{Status: RetryExc}, "silent", "fell silent"},
	{"perftest, flushed", "Completion with error at server\n Failed status 5: wr_id 0 syndrom 0xf9",
		Complaint{Status: WRFlush},
		"bad key", "the queue pair failed before: refuses the WRITE of frame 21"},
	{"perftest or rdma-core, the local address", formatNamed("local address"), Complaint{Status: NoStatus,
		QPN: 0x11, Local: local}, "invalid",
		"refuses the WRITE of frame 21 with NAK invalid request"},
	{"perftest or rdma-core, the peer's address", " remote address: LID 0000 QPN 0x0022 PSN 0x5f3f8c RKey 0x001234 " +
		"VAddr 0x007f5a\n GID: 00:00:00:00:00:00:00:00:00:00:255:255:198:18:00:02", Complaint{Status: NoStatus,
		PeerQPN: 0x22,
		Remote:  remote},
		"silent", "fell silent"},
	{"rdma-core", formatNamed("for wr_id 2"), Complaint{Status: RetryExc}, "silent", "fell silent"},
	{"Open MPI", formatNamed("error polling LP CQ"), Complaint{Status: RetryExc}, "silent", "fell silent"},
	{"kernel NVMe-oF", formatNamed("nvme15"), Complaint{Status: WRFlush}, "no receive", "the queue pair failed " +
		"before: 198.18.0.2/0x000022 had no receive posted"},
	{"kernel mlx5", formatNamed("WC error"), Complaint{Status: RemAccess}, "bad key", "refuses the WRITE"},
	{"kernel mlx5, dump of the CQE", formatNamed("00000030"), Complaint{Status: RetryExc, QPN: 0x11}, "silent",
		"fell silent"},
	{"kernel rxe", "[  169.074796] rdma_rxe: qp#34 moved to error state", Complaint{Status: NoStatus, QPN: 0x22},
		"bad key",
		"refuses the WRITE"},
	{"kernel rxe, since 6.2", "rdma_rxe: rxe0: qp#34 rxe_responder: moved to error state",
		Complaint{Status: NoStatus, QPN: 0x22},
		"responder failed", "refuses the SEND of frame 21 with NAK remote operational error"},
	{"gorxe, a command", formatNamed("after 3 messages"), Complaint{Status: RetryExc, QPN: 0x11}, "silent", "fell " +
		"silent"},
	{"gorxe, the daemon", formatNamed("queue pair 0x000011, with"), Complaint{Status: RetryExc, QPN: 0x11,
		Remote: remote}, "silent",
		"fell silent"},
	{"any program", formatNamed("poll: "), Complaint{Status: RetryExc, QPN: 0x11, Remote: remote}, "silent", "fell " +
		"silent"},
	{"any program, kernel rtrs", "rtrs_server L1205: <bla>: remote access error (wr_cqe: 00000003b14397c, type: 0, " +
		"vendor_err: 0x0, len: 0)",
		Complaint{Status: RemAccess}, "bad key", "refuses the WRITE"},
	{"kernel mlx5, a local error at the responder", "infiniband mlx5_0: mlx5_handle_error_cqe:332:(pid 0): WC error: " +
		"4, Message: local protection error", Complaint{Status: LocProt}, "responder failed",
		"the error is at the responder, and its NAK is in the capture: refuses the SEND of frame 21"},
}

// formatNamed returns the example of the format that has part.
func formatNamed(part string) string {
	for _, f := range Formats() {
		if strings.Contains(f.Example, part) {
			return f.Example
		}
	}
	panic("no format has " + part)
}

func TestALineOfEachFormatLeadsToTheCause(t *testing.T) {
	for _, tt := range lines {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(tt.line)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(tt.name, c.Format) {
				t.Errorf("format %s", c.Format)
			}
			tt.want.Format = c.Format
			if diff := cmp.Diff(tt.want, c, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
				t.Error(diff)
			}
			a := ask(t, c, framesOf(tt.talk))
			if a.Explained() != 1 || !strings.Contains(a.Matches[0].Cause, tt.cause) ||
				a.Matches[0].Flow.Ends[1].QPN != 0x22 {
				t.Errorf("%d explained, want %q", a.Explained(), tt.cause)
				var b strings.Builder
				_ = a.WriteText(&b)
				t.Log(b.String())
			}
		})
	}
}

func TestEachFormatHasALine(t *testing.T) {
	tested := map[string]bool{}
	for _, l := range lines {
		tested[l.line] = true
	}
	for _, f := range Formats() {
		if !tested[f.Example] && f.Name != "kernel rxe" {
			t.Errorf("%s: %s", f.Name, f.Example)
		}
		if f.Source == "" {
			t.Errorf("%s has no source", f.Example)
		}
	}
}

func TestAnswersAreWritten(t *testing.T) {
	for _, tt := range []struct{ name, line, talk string }{
		{"silent", formatNamed("net_ib.cc:2453"), "silent"},
		{"responses_lost", formatNamed("GDAKI"), "responses lost"},
		{"requests_lost", formatNamed("GDAKI"), "requests lost"},
		{"no_receive", "status 13 on QP 0x11", "no receive"},
		{"bad_key", "status=10 qp_num=17", "bad key"},
		{"no_error_of_this_kind", "status=12 qp_num=17", "bad key"},
		{"nothing_wrong", "status=12 qp_num=17", "nothing"},
		{"flushed_without_error", "status=5 qp_num=0x33", "bad key"},
		{"local_error", "IBV_WC_LOC_PROT_ERR qpn 0x11", "nothing"},
		{"no_such_queue_pair", "status=12 qp_num=0x99", "silent"},
		{"control_characters", "\x1b[1mNET/IB: Got completion from peer x with status=12 opcode=\x1b[2J", "silent"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := Parse(tt.line)
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			if err := ask(t, c, framesOf(tt.talk)).WriteText(&b); err != nil {
				t.Fatal(err)
			}
			golden.Check(t, tt.name+".txt", b.String())
		})
	}
}

func TestALineWithoutFactsIsAnError(t *testing.T) {
	for _, l := range []string{"", "hello world", "the network is slow", strings.Repeat("x", 1<<20)} {
		if c, err := Parse(l); err == nil {
			t.Errorf("%q: %+v", l[:min(len(l), 40)], c)
		}
	}
}

func TestStatusesAreFoundByTheLongestText(t *testing.T) {
	for line, want := range map[string]Status{
		"RNR retry counter exceeded": RNRRetryExc, "IBV_WC_RNR_RETRY_EXC_ERR": RNRRetryExc,
		"IBV_WC_RETRY_EXC_ERR":      RetryExc,
		"remote invalid RD request": 15, "remote invalid request error": RemInvReq, "Remote access": RemAccess,
		"WR flushed": WRFlush, "nothing": NoStatus,
	} {
		if got := statusIn(line); got != want {
			t.Errorf("%s: %v", line, got)
		}
	}
	if s := Status(99).String() + Status(99).Meaning(); s != "status 99" {
		t.Error(s)
	}
}

// Any line is parsed, and any answer written, without control characters.
func FuzzParse(f *testing.F) {
	for _, l := range lines {
		f.Add(l.line)
	}
	frames := framesOf("silent")
	f.Fuzz(func(t *testing.T, line string) {
		c, err := Parse(line)
		if err != nil {
			return
		}
		if c.QPN > 0xffffff || c.PeerQPN > 0xffffff || c.Format == "" || c.Status < NoStatus {
			t.Errorf("%+v", c)
		}
		var b bytes.Buffer
		if err := ask(t, c, frames).WriteText(&b); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(b.Bytes(), func(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }) {
			t.Errorf("%q", b.String())
		}
	})
}

// Memory does not grow with the number of flows and errors.
func TestACollectorIsBounded(t *testing.T) {
	w := &talk{}
	for i := range 40_000 {
		w.send(0, bth.Packet{Opcode: bth.RCSendOnly, DestQP: bth.QPN(0x1000 + i), PSN: bth.PSN(i), AckReq: true,
			Payload: []byte("data")})
		w.send(1, bth.Packet{Opcode: bth.RCAck, DestQP: 0x11, PSN: bth.PSN(i),
			AETH: bth.AETH{Syndrome: bth.NakRemoteAccess}})
	}
	a := ask(t, Complaint{Status: RemAccess}, w.frames)
	if len(a.Matches) > maxRecords || len(a.Others) > maxOthers {
		t.Errorf("%d matches, %d others", len(a.Matches), len(a.Others))
	}
	for _, m := range a.Matches {
		if len(m.Evidence) > 4*maxKept {
			t.Errorf("%d lines", len(m.Evidence))
		}
	}
	if err := a.WriteText(io.Discard); err != nil {
		t.Error(err)
	}
}
