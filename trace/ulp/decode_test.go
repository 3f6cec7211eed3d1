package ulp_test

import (
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace/ulp"
)

// unhex returns the bytes of hexadecimal digits; "N*XX" stands for N times the byte XX.
func unhex(t *testing.T, s string) (b []byte) {
	t.Helper()
	for _, w := range strings.Fields(s) {
		n := 1
		if count, digits, ok := strings.Cut(w, "*"); ok {
			n, w = 0, digits
			for _, c := range count {
				n = 10*n + int(c-'0')
			}
		}
		x, err := hex.DecodeString(w)
		if err != nil {
			t.Fatal(err)
		}
		for range n {
			b = append(b, x...)
		}
	}
	return b
}

func TestDecode(t *testing.T) {
	host, controller := ulp.Context{Client: true, Queue: 1}, ulp.Context{Queue: 1}
	admin := ulp.Context{Client: true}
	unknown := ulp.Context{Client: true, Queue: -1}
	const sqe = " 40 0500 01000000 16*00 " // after the opcode, up to MPTR
	const bhs = "15*00 00000007 "          // after the opcode, up to the task tag
	for _, x := range []struct {
		what  string
		proto ulp.Protocol
		c     ulp.Context
		b     string
		want  string // text or error
	}{
		{"no protocol", ulp.None, host, "64*00", "error: header"},
		{"a protocol that does not exist", 200, host, "64*00", "error: header"},

		{"NVMe: a command of 63 bytes", ulp.NVMe, host, "63*00", "error: header"},
		{"NVMe: a response of 17 bytes", ulp.NVMe, controller, "17*00", "error: header"},
		{"NVMe: a command without data", ulp.NVMe, host, "00" + sqe + "40*00", "NVMe-oF I/O Flush, CID 5, NSID 1"},
		{"NVMe: an opcode of the admin queue", ulp.NVMe, admin, "06" + sqe + "16*00 02 23*00",
			"NVMe-oF admin Identify, CID 5, NSID 1, CNS 2"},
		{"NVMe: an opcode without a name", ulp.NVMe, host,
			"c1" + sqe + "40*00", "NVMe-oF I/O command 0xc1, CID 5, NSID 1"},
		{"NVMe: on an unknown queue an opcode has no name", ulp.NVMe, unknown, "02" + sqe + "40*00",
			"NVMe-oF command 0x2, CID 5, NSID 1"},
		{"NVMe: data in the capsule", ulp.NVMe, host, "01" + sqe + "8*00 00100000 3*00 01 24*00",
			"NVMe-oF I/O Write, CID 5, NSID 1, LBA 0, blocks 1, 4096 bytes"},
		{"NVMe: a key that is to be invalidated", ulp.NVMe, host,
			"09" + sqe + "0010000000000000 100000 44332211 4f 24*00",
			"NVMe-oF I/O Dataset Management, CID 5, NSID 1, 16 bytes; expects READ of 16 bytes at 0x1000, key 0x11223344"},
		{"NVMe: an SGL segment in the capsule", ulp.NVMe, host, "02" + sqe + "8*00 20000000 3*00 31 24*00 " +
			"0010000000000000 001000 01000000 40 0020000000000000 001000 02000000 40",
			"NVMe-oF I/O Read, CID 5, NSID 1, LBA 0, blocks 1, 8192 bytes; expects WRITE of 4096 bytes to 0x1000, key 0x1; " +
				"expects WRITE of 4096 bytes to 0x2000, key 0x2"},
		{"NVMe: an SGL segment that leads out of the capsule", ulp.NVMe, host,
			"02" + sqe + "ff ff ff ff ff ff ff ff 20000000 3*00 31 24*00",
			"NVMe-oF I/O Read, CID 5, NSID 1, LBA 0, blocks 1"},
		{"NVMe: PRPs are no buffers", ulp.NVMe, host,
			"02 00 0500 01000000 16*00 0010000000000000 001000 01000000 40 24*00",
			"NVMe-oF I/O Read, CID 5, NSID 1, LBA 0, blocks 1"},
		{"NVMe: a status without a name", ulp.NVMe, controller, "12*00 0500 fe0f",
			"NVMe-oF response, CID 5: status 0x7ff"},

		{"iSER: Hello", ulp.ISER, host, "20 aa 0010 24*00", "iSER Hello"},
		{"iSER: another header type", ulp.ISER, host, "40 75*00", "error: header"},
		{"iSER: reserved flags", ulp.ISER, host, "12 75*00", "error: header"},
		{"iSER: a control header without a PDU", ulp.ISER, host, "10 27*00", "error: header"},
		{"iSER: an iSCSI opcode that does not exist", ulp.ISER, host, "10 27*00 3b 47*00", "error: header"},
		{"iSER: Task Management", ulp.ISER, host,
			"10 27*00 02 " + bhs + "28*00", "iSER iSCSI Task Management, ITT 0x7"},
		{"iSER: Login Response with an error", ulp.ISER, controller, "10 27*00 23 " + bhs + "16*00 0202 10*00",
			"iSER iSCSI Login response, ITT 0x7: Authorization failure"},
		{"iSER: SCSI Response with a response code", ulp.ISER, controller, "10 27*00 21 80 01 13*00 00000007 28*00",
			"iSER iSCSI SCSI response, ITT 0x7: Target Failure"},
		{"iSER: Reject", ulp.ISER, controller, "10 27*00 3f 47*00", "iSER iSCSI Reject"},

		{"SMB Direct: too short", ulp.SMBDirect, host, "19*00", "error: header"},
		{"SMB Direct: data beyond the end", ulp.SMBDirect, host,
			"8*00 00000000 18000000 05000000 00000000 4*00", "error: header"},
		{"SMB Direct: data in the header", ulp.SMBDirect, host,
			"8*00 00000000 10000000 04000000 00000000 4*00", "error: header"},
		{"SMB Direct: reserved flags", ulp.SMBDirect, host, "0000 0000 0200 14*00", "error: header"},
		{"SMB Direct: continued", ulp.SMBDirect, ulp.Context{Continued: true},
			"8*00 00000000 18000000 04000000 00000000 fe534d42", "SMB Direct Data Transfer, continued, 4 bytes"},
		{"SMB Direct: encrypted", ulp.SMBDirect, host, "8*00 10000000 18000000 04000000 00000000 fd534d42",
			"SMB Direct SMB3 encrypted message, 20 bytes"},
		{"SMB Direct: not SMB2", ulp.SMBDirect, host,
			"8*00 00000000 18000000 04000000 00000000 ff534d42", "error: header"},
		{"SMB Direct: an oplock break", ulp.SMBDirect, controller,
			"8*00 00000000 18000000 40000000 00000000 fe534d42 " +
				"4000 0000 00000000 1200 0000 01000000 00000000 8*ff 32*00",
			"SMB Direct SMB2 OPLOCK_BREAK: STATUS_SUCCESS"},
		{"SMB Direct: a command without a name", ulp.SMBDirect, host,
			"8*00 00000000 18000000 40000000 00000000 fe534d42 " +
				"4000 0000 00000000 7700 0000 00000000 00000000 09 7*00 32*00",
			"SMB Direct SMB2 command 0x77, MessageId 9"},

		{"NFS: another version of RPC-over-RDMA", ulp.NFS, host,
			"00000007 00000002 00000020 00000000", "error: header"},
		{"NFS: another message type", ulp.NFS, host, "00000007 00000001 00000020 00000005", "error: header"},
		{"NFS: RDMA_DONE", ulp.NFS, host, "00000007 00000001 00000020 00000003", "NFS/RDMA RDMA_DONE"},
		{"NFS: ERR_VERS", ulp.NFS, host, "00000007 00000001 00000020 00000004 00000001",
			"NFS/RDMA RPC response, XID 0x7: ERR_VERS: version of RPC-over-RDMA not supported"},
		{"NFS: a list item that is no boolean", ulp.NFS, host,
			"00000007 00000001 00000020 00000000 00000002", "error: header"},
		{"NFS: cut in a chunk list", ulp.NFS, host, "00000007 00000001 00000020 00000000 00000001 00000000",
			"NFS/RDMA RPC message"},
		{"NFS: a long call", ulp.NFS, host, "00000007 00000001 00000020 00000001 " +
			"00000001 00000000 00000009 00000800 0000000000001000 00000000 00000000 00000000",
			"NFS/RDMA RPC long call, XID 0x7, credits 32; expects READ of 2048 bytes at 0x1000, key 0x9"},
		{"NFS: RDMA_NOMSG without chunks", ulp.NFS, host, "00000007 00000001 00000020 00000001 12*00", "error: header"},
		{"NFS: XIDs that differ", ulp.NFS, host,
			"00000007 00000001 00000020 00000000 12*00 00000008 00000000", "error: header"},
		{"NFS: a call of another program", ulp.NFS, host,
			"00000007 00000001 00000020 00000000 12*00 00000007 00000000 " +
				"00000002 40000000 00000001 00000001 16*00",
			"NFS/RDMA RPC call, XID 0x7, credits 32, program 1073741824, version 1, procedure 1"},
		{"NFS: a reply that is denied", ulp.NFS, host, "00000007 00000001 00000020 00000000 12*00 00000007 00000001 " +
			"00000001 00000001", "NFS/RDMA RPC response, XID 0x7, credits 32: MSG_DENIED"},
		{"NFS: a reply that is not accepted", ulp.NFS, host,
			"00000007 00000001 00000020 00000000 12*00 00000007 00000001 " +
				"00000000 8*00 00000003", "NFS/RDMA RPC response, XID 0x7, credits 32: PROC_UNAVAIL"},
	} {
		b := unhex(t, x.b)
		var p ulp.PDU
		got := ""
		switch err := p.Decode(x.proto, x.c, b, len(b)); err {
		case nil:
			got = p.String()
		case ulp.ErrHeader:
			got = "error: header"
		case ulp.ErrShort:
			got = "error: short"
		default:
			got = err.Error()
		}
		if got != x.want {
			t.Errorf("%s:\n%s, want\n%s", x.what, got, x.want)
		}
	}
}

func TestDecodePrivate(t *testing.T) {
	for _, x := range []struct {
		proto ulp.Protocol
		x     ulp.Exchange
		b     string
		want  string
	}{
		{ulp.NVMe, ulp.Request, "0000 0100 8000 7f00 24*00", "NVMe-oF, QID 1, HRQSIZE 128, HSQSIZE 127"},
		{ulp.NVMe, ulp.Request, "0000 0100 8000 7f00 23*00", "error"},
		{ulp.NVMe, ulp.Request, "0100 0100 8000 7f00 24*00", "error"},
		{ulp.NVMe, ulp.Request, "0000 0100 0000 7f00 24*00", "error"},
		{ulp.NVMe, ulp.Reply, "0000 8000 28*00", "NVMe-oF, CRQSIZE 128"},
		{ulp.NVMe, ulp.Reject, "0000 0300", "NVMe-oF: Invalid QID"},
		{ulp.NVMe, ulp.Reject, "0000 7700", "NVMe-oF: status 0x77"},
		{ulp.NVMe, ulp.Reject, "0000 03", "error"},
		{ulp.ISER, ulp.Request, "40 3*00", "iSER, ZBVA 1, SEND with invalidate 0"},
		{ulp.ISER, ulp.Reply, "00 3*00", "iSER, ZBVA 1, SEND with invalidate 1"},
		{ulp.ISER, ulp.Reply, "01 3*00", "error"},
		{ulp.ISER, ulp.Reject, "00 3*00", "error"},
		{ulp.SMBDirect, ulp.Request, "32*00", "error"},
		{ulp.NFS, ulp.Request, "f6ab0e18 01 01 03 0f",
			"NFS/RDMA, SEND with invalidate 1, send size 4096, receive size 16384"},
		{ulp.NFS, ulp.Reply, "f6ab0e18 02 01 03 0f", "error"},
		{ulp.NFS, ulp.Reject, "f6ab0e18 01 01 03 0f", "error"},
		{ulp.None, ulp.Request, "32*00", "error"},
	} {
		var p ulp.PDU
		got := "error"
		if p.DecodePrivate(x.proto, x.x, unhex(t, x.b)) == nil {
			got = p.String()
		}
		if got != x.want {
			t.Errorf("%v, %d, %s: %s, want %s", x.proto, x.x, x.b, got, x.want)
		}
	}
}

func TestBuffersBeyondTheLimitAreCounted(t *testing.T) {
	be := binary.BigEndian
	b := unhex(t, "00000007 00000001 00000020 00000000")
	for i := range uint32(ulp.MaxBuffers + 3) {
		b = be.AppendUint32(be.AppendUint32(b, 1), 96)
		b = be.AppendUint32(be.AppendUint32(b, i+1), 4096)
		b = be.AppendUint64(b, uint64(i)<<12)
	}
	b = append(b, unhex(t, "8*00 00000000 00000007 00000000 00000002 000186a3 00000003 00000007 16*00")...)
	var p ulp.PDU
	if err := p.Decode(ulp.NFS, ulp.Context{Client: true}, b, len(b)); err != nil {
		t.Fatal(err)
	}
	if len(p.Buffers()) != ulp.MaxBuffers || p.Omitted != 3 || !strings.HasSuffix(p.String(), "; 3 more buffers") {
		t.Errorf("%d buffers, %d omitted: %v", len(p.Buffers()), p.Omitted, &p)
	}
}

func TestNamesOfProtocols(t *testing.T) {
	for _, name := range ulp.Names() {
		if p := ulp.ByName(strings.ToUpper(name)); p.Name() != name || p.String() == "" {
			t.Errorf("%q is %v", name, p)
		}
	}
	if ulp.ByName("tcp") != ulp.None || ulp.ByName("") != ulp.None || ulp.None.String() != "" {
		t.Error("a name that no protocol has is found")
	}
}
