package trace_test

import (
	"bytes"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/trace"
	"github.com/gorxe/gorxe/trace/capture"
	headerfields "github.com/gorxe/gorxe/trace/fields"
	"github.com/gorxe/gorxe/trace/ulp"
)

// sharkULP are fields of tshark and the header and name of the same field in package ulp.
var sharkULP = map[string][]struct{ shark, header, name string }{
	"nvme": {
		{"nvme.cmd.opc", "NVMe command", "Opcode (OPC)"},
		{"nvme.cmd.cid", "NVMe command", "Command Identifier (CID)"},
		{"nvme.cmd.nsid", "NVMe command", "Namespace Identifier (NSID)"},
		{"nvme.cmd.slba", "NVMe command", "Starting LBA (SLBA)"},
		{"nvme.fabrics.cmd.cid", "NVMe command", "Command Identifier (CID)"},
		{"nvme.fabrics.cmd.fctype", "NVMe command", "Fabrics Command Type (FCTYPE)"},
		{"nvme.fabrics.cmd.connect.qid", "NVMe command", "Queue ID (QID)"},
		{"nvme.fabrics.cmd.connect.kato", "NVMe command", "Keep Alive Timeout (KATO)"},
		{"nvme.fabrics.cmd.prop_get_set.offset", "NVMe command", "Offset (OFST)"},
		{"nvme.cmd.sgl1.addr", "NVMe SGL descriptor", "Address"},
		{"nvme.cmd.sgl1.len", "NVMe SGL descriptor", "Length"},
		{"nvme.cmd.sgl1.key", "NVMe SGL descriptor", "Key"},
		{"nvme.cqe.cid", "NVMe completion", "Command Identifier (CID)"},
		{"nvme.cqe.sqhd", "NVMe completion", "SQ Head Pointer (SQHD)"},
		{"nvme.cqe.status", "NVMe completion", "Status (STS)"},
	},
	"iser": {
		{"iser.flags", "iSER header", "Opcode and Flags"},
		{"iser.write_stag", "iSER header", "Write STag"},
		{"iser.write_base_offset", "iSER header", "Write Base Offset"},
		{"iser.read_stag", "iSER header", "Read STag"},
		{"iser.read_base_offset", "iSER header", "Read Base Offset"},
		{"iscsi.initiatortasktag", "iSCSI BHS", "InitiatorTaskTag"},
		{"iscsi.datasegmentlength", "iSCSI BHS", "DataSegmentLength"},
		{"iscsi.totalahslength", "iSCSI BHS", "TotalAHSLength"},
		{"iscsi.scsicommand.expecteddatatransferlength", "iSCSI BHS", "ExpectedDataTransferLength"},
		{"iscsi.scsiresponse.response", "iSCSI BHS", "Response"},
		{"iscsi.scsiresponse.status", "iSCSI BHS", "Status"},
		{"scsi_sbc.opcode", "iSCSI BHS", "CDB, operation code"},
	},
	"smbdirect": {
		{"smb_direct.version.min", "SMB Direct", "MinVersion"},
		{"smb_direct.version.max", "SMB Direct", "MaxVersion"},
		{"smb_direct.version.negotiated", "SMB Direct", "NegotiatedVersion"},
		{"smb_direct.credits.requested", "SMB Direct", "CreditsRequested"},
		{"smb_direct.credits.granted", "SMB Direct", "CreditsGranted"},
		{"smb_direct.status", "SMB Direct", "Status"},
		{"smb_direct.preferred_send_size", "SMB Direct", "PreferredSendSize"},
		{"smb_direct.max_receive_size", "SMB Direct", "MaxReceiveSize"},
		{"smb_direct.max_fragmented_size", "SMB Direct", "MaxFragmentedSize"},
		{"smb_direct.max_read_write_size", "SMB Direct", "MaxReadWriteSize"},
		{"smb_direct.flags", "SMB Direct", "Flags"},
		{"smb_direct.remaining_length", "SMB Direct", "RemainingDataLength"},
		{"smb_direct.data_offset", "SMB Direct", "DataOffset"},
		{"smb_direct.data_length", "SMB Direct", "DataLength"},
		{"smb2.cmd", "SMB2 header", "Command"},
		{"smb2.msg_id", "SMB2 header", "MessageId"},
		{"smb2.nt_status", "SMB2 header", "Status"},
		{"smb2.flags", "SMB2 header", "Flags"},
		{"smb2.buffer_descriptor.offset", "SMB Direct buffer descriptor", "Offset"},
		{"smb2.buffer_descriptor.token", "SMB Direct buffer descriptor", "Token"},
		{"smb2.buffer_descriptor.length", "SMB Direct buffer descriptor", "Length"},
	},
	"nfs": {
		{"rpcordma.xid", "RPC-over-RDMA", "rdma_xid"},
		{"rpcordma.version", "RPC-over-RDMA", "rdma_vers"},
		{"rpcordma.flow_control", "RPC-over-RDMA", "rdma_credit"},
		{"rpcordma.msg_type", "RPC-over-RDMA", "rdma_proc"},
		{"rpcordma.errcode", "RPC-over-RDMA", "rdma_err"},
		{"rpcordma.rdma_handle", "RPC-over-RDMA", "handle"},
		{"rpcordma.rdma_length", "RPC-over-RDMA", "length"},
		{"rpcordma.rdma_offset", "RPC-over-RDMA", "offset"},
		{"rpcordma.position", "RPC-over-RDMA", "position"},
		{"rpc.xid", "RPC", "xid"},
		{"rpc.msgtyp", "RPC", "mtype"},
		{"rpc.replystat", "RPC", "reply_stat"},
		{"rpc.state_accept", "RPC", "accept_stat"},
	},
}

func TestULPFieldsAgreeWithTshark(t *testing.T) {
	for _, capt := range ulpCaptures {
		t.Run(capt, func(t *testing.T) {
			rows := sharkULP[capt]
			args := []string{"-r", filepath.Join("testdata", "ulp", capt+".pcap"), "-T", "fields", "-E", "occurrence=a"}
			for _, f := range rows {
				args = append(args, "-e", f.shark)
			}
			lines := strings.Split(strings.TrimSuffix(string(shark(t, args...)), "\n"), "\n")
			compared := make([]int, len(rows))
			a := trace.NewAnalyzer(trace.Options{})
			readAll(t, bytes.NewReader(ulpCapture(t, capt)), func(_ *capture.Frame, p *trace.Packet) {
				a.Add(p)
				if p.Message == nil || p.Message.ULP == nil || p.Message.ULP.Transfer || p.BTH.PSN != p.Message.First ||
					p.Role != trace.Request {
					return
				}
				u := p.Message.ULP
				own := headerfields.Append(nil, p)
				values := strings.Split(lines[p.Number-1], "\t")
				for i, f := range rows {
					want := values[i]
					if want == "" {
						continue
					}
					var got []string
					for _, x := range own {
						if x.Header == f.header && x.Name == f.name {
							value, _, _ := strings.Cut(x.Value, " ")
							got = append(got, value)
						}
					}
					// tshark copies the operation code of the command into the response, and shows
					// RPC messages again that it fails to reassemble.
					list := strings.Split(want, ",")
					if f.shark == "scsi_sbc.opcode" && u.PDU.Kind == ulp.Response {
						continue
					}
					if f.header == "RPC" {
						list = list[:min(len(got), len(list))]
					}
					if !sameList(got, list) {
						t.Errorf("frame %d: %s, %s is %q, tshark says %s=%q", p.Number, f.header, f.name, got,
							f.shark, want)
					}
					compared[i] += len(got)
				}
			})
			total := 0
			for i, n := range compared {
				if total += n; n == 0 {
					t.Errorf("tshark never shows %s", rows[i].shark)
				}
			}
			t.Logf("%d values agree", total)
		})
	}
}

// sameList compares lists of values.
func sameList(a, b []string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !same(a[i], b[i]) && strconv.Quote(a[i]) != b[i] {
			return false
		}
	}
	return true
}
