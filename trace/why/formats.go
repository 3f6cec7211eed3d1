package why

import "regexp"

// Format is a format of log lines that [Parse] knows.
type Format struct {
	Name    string
	Source  string // where the program that writes such lines has them
	Example string

	trigger *regexp.Regexp   // lines of the format match it; nil: all
	fields  []*regexp.Regexp // their named groups set the fields of a Complaint; see Complaint.set
	noText  bool             // the line has no text of a status
}

// Formats returns the formats in the order in which Parse tries them.
func Formats() []Format { return formats }

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }

// addr matches an address or a GID.
const addr = `[0-9a-fA-F:.]*[0-9a-fA-F]`

// events has the statuses that the requester gets when the responder's RNIC raises the asynchronous
// event: texts of ibv_event_type_str (rdma-core libibverbs/enum_strs.c).
var events = map[string]Status{
	"local access violation work queue error": RemAccess,
	"invalid request local work queue error":  RemInvReq,
	"local catastrophic error":                RemOp,
	"local work queue catastrophic error":     RemOp,
	"local catastrophic work queue error":     RemOp,
	"path migration failed":                   RetryExc,
}

// formats are the known formats, the most specific first.
var formats = []Format{
	{
		Name: "NCCL", Source: "NCCL src/transport/net_ib.cc, ncclIbTest and ncclIbLogCompletionWithError; RCCL has the same",
		Example: "transport/net_ib.cc:2453 NCCL WARN NET/IB: Got completion from peer 10.99.91.63<51161> with status=12 " +
			"opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:198.18.0.1 remoteGids::ffff:198.18.0.2 hca mlx5_1",
		trigger: re(`Got completion from peer`),
		fields: []*regexp.Regexp{
			re(`with (?:status=|error )(?:(?P<name>IBV_WC_\w+)\()?(?P<status>\d+)`), re(`from peer (?P<socket>` +
				addr + `)[<\s]`),
			re(`opcode[= ](?P<op>[A-Z_a-z]+|\d+)`), re(`localGid ?(?P<local>` + addr + `)`),
			re(`remoteGids? ?(?P<remote>` + addr + `)`),
		},
	},
	{
		Name: "NCCL", Source: "NCCL src/transport/net_ib/p2p.cc, ncclIbTest",
		Example: "NCCL WARN NET/IB: ncclIbTest: Got CQE with error (devIndex=0, req=0x7fa5a800e028, comm=0x7fa5a800e000 (send), " +
			"wr_id=0, qp_num=17)",
		trigger: re(`Got CQE with error`), fields: []*regexp.Regexp{re(`qp_num=(?P<qpn>\d+)`)}, noText: true,
	},
	{
		Name: "NCCL", Source: "NCCL src/transport/net_ib/gdaki, ncclGinGdakiQueryLastError",
		Example: "NCCL WARN GDAKI QP error on qpIdx 0/8 (main): rank=0 remoteRank=1 contextId=0 nranks=2 ncontexts=1 qpn=0x11 " +
			"counterSetId=0 syndrome=0x15 vendor_err=0x81 hw_err=0 hw_type=0 wqe_counter=3",
		trigger: re(`GDAKI QP error`),
		fields:  []*regexp.Regexp{re(`qpn=(?P<qpn>0x[0-9a-f]+)`), re(`syndrome=0x(?P<synd>[0-9a-f]+)`)}, noText: true,
	},
	{
		Name: "NCCL", Source: "NCCL src/transport/net_ib.cc, ncclIbAsyncThreadMain",
		Example: "NCCL WARN NET/IB : mlx5_1:1 async fatal event on QP: local access violation work queue error",
		trigger: re(`(?:async fatal event on QP|Got async event) ?:`),
		fields:  []*regexp.Regexp{re(`(?:on QP|event) ?: *(?P<event>[a-z ]*[a-z])`), re(`qp_num[= ](?P<qpn>\d+)`)},
		noText:  true,
	},
	{
		Name: "UCX", Source: "UCX src/uct/ib/mlx5/ib_mlx5_log.c, uct_ib_mlx5_completion_with_err",
		Example: "[b0016:481792:0:481792] ib_mlx5_log.c:179  RC QP 0x11 wqe[0]: RDMA_READ s-- [rva 0x555e73f rkey 0x204c00] " +
			"[va 0x470c5bf len 65 lkey 0x206a00] [rqpn 0x22 dlid=0 sl=0 port=1 src_path_bits=0 dgid=::ffff:198.18.0.2 " +
			"sgid_index=3 traffic_class=106]",
		trigger: re(`(?:RC|UD|DC|DCI|UC) QP 0x[0-9a-f]+ wqe\[`),
		fields: []*regexp.Regexp{
			re(`QP (?P<qpn>0x[0-9a-f]+) wqe`), re(`rqpn (?P<rqpn>0x[0-9a-f]+)`), re(`dgid=(?P<remote>` + addr + `)`),
			re(`wqe\[\d+\]: (?P<op>[A-Z_]+)`), re(`\[rva (?P<va>0x[0-9a-f]+) rkey (?P<rkey>0x[0-9a-f]+)`),
			re(`\(synd 0x(?P<synd>[0-9a-f]+)`),
		},
	},
	{
		Name: "UCX", Source: "UCX src/uct/ib/mlx5/ib_mlx5_log.c, up to UCX 1.8",
		Example: "ib_mlx5_log.c:113 UCX ERROR Error on QP 0x11 wqe[12]: Transport retry count exceeded (synd 0x15 vend 0x81) " +
			"opcode SEND",
		trigger: re(`Error on QP 0x[0-9a-f]+ wqe\[`),
		fields: []*regexp.Regexp{re(`QP (?P<qpn>0x[0-9a-f]+)`), re(`synd 0x(?P<synd>[0-9a-f]+)`),
			re(`opcode (?P<op>[A-Z_]+)`)},
	},
	{
		Name: "UCX", Source: "UCX src/uct/ib/mlx5/ib_mlx5_log.c",
		Example: "[node1:12345:0:12345] ib_mlx5_log.c:177  Transport retry count exceeded on mlx5_0:1/RoCE (synd 0x15 vend 0x81 " +
			"hw_synd 0/0)",
		trigger: re(`\(synd 0x[0-9a-f]+ vend`), fields: []*regexp.Regexp{re(`synd 0x(?P<synd>[0-9a-f]+)`)},
	},
	{
		Name: "perftest", Source: "perftest src/perftest_resources.h, NOTIFY_COMP_ERROR_SEND",
		Example: " Failed status 12: wr_id 0 syndrom 0x81",
		trigger: re(`Failed status \d+: wr_id`), fields: []*regexp.Regexp{re(`Failed status (?P<status>\d+)`)},
		noText: true,
	},
	{
		Name: "perftest or rdma-core", Source: "perftest src/perftest_communication.c; rdma-core libibverbs/examples",
		Example: "  local address:  LID 0x0000, QPN 0x000011, PSN 0xc36bd9, GID ::ffff:198.18.0.1",
		trigger: re(`(?:local|remote) address: +LID`),
		fields: []*regexp.Regexp{
			re(`local address:.*?QPN (?P<qpn>0x[0-9a-f]+)`), re(`remote address:.*?QPN (?P<rqpn>0x[0-9a-f]+)`),
			re(`(?s)local address:.*?GID:? ?(?P<local>` + addr + `)`),
			re(`(?s)remote address:.*?GID:? ?(?P<remote>` + addr + `)`),
		}, noText: true,
	},
	{
		Name: "rdma-core", Source: "rdma-core libibverbs/examples/rc_pingpong.c, parse_single_wc",
		Example: "Failed status transport retry counter exceeded (12) for wr_id 2",
		trigger: re(`Failed status [a-zA-Z ]+\(\d+\) for wr_id`),
		fields:  []*regexp.Regexp{re(`\((?P<status>\d+)\) for wr_id`)},
	},
	{
		Name: "Open MPI", Source: "Open MPI opal/mca/btl/openib/btl_openib_component.c, handle_wc",
		Example: "[[51298,1],2][btl_openib_component.c:3496:handle_wc] from ib7 to: 3 error polling LP CQ with status " +
			"RETRY EXCEEDED ERROR status number 12 for wr_id 217ce00 opcode 0  vendor error 129 qp_idx 0",
		trigger: re(`error polling (?:LP|HP|\w+) CQ with status`),
		fields:  []*regexp.Regexp{re(`status number (?P<status>\d+)`)},
	},
	{
		Name: "kernel NVMe-oF", Source: "Linux drivers/nvme/host/rdma.c and drivers/nvme/target/rdma.c",
		Example: "nvme nvme15: RECV for CQE 0x00000000ce392ed9 failed with status WR flushed (5)",
		trigger: re(`for CQE 0x[0-9a-f]+ failed with status`),
		fields:  []*regexp.Regexp{re(`failed with status [a-zA-Z ]+\((?P<status>\d+)\)`)},
	},
	{
		Name: "kernel mlx5", Source: "Linux drivers/infiniband/hw/mlx5/cq.c, mlx5_handle_error_cqe",
		Example: "infiniband mlx5_0: mlx5_handle_error_cqe:333:(pid 0): WC error: 10, Message: remote access error",
		trigger: re(`WC error: \d+`), fields: []*regexp.Regexp{re(`WC error: (?P<status>\d+)`)},
	},
	{
		Name: "kernel mlx5", Source: "Linux drivers/infiniband/hw/mlx5/cq.c, dump_cqe: the last 16 bytes of struct mlx5_err_cqe",
		Example: "[  408.380192] 00000030: 00 00 00 00 0f 00 81 15 0a 00 00 11 00 54 e8 e2",
		trigger: re(`00000030:(?: [0-9a-f]{2}){16}`),
		fields: []*regexp.Regexp{re(`00000030:(?: [0-9a-f]{2}){7} (?P<synd>[0-9a-f]{2}) ` +
			`[0-9a-f]{2} (?P<qpx>(?:[0-9a-f]{2} ?){3})`)},
		noText: true,
	},
	{
		Name: "kernel rxe", Source: "Linux drivers/infiniband/sw/rxe/rxe_resp.c: the responder refused a request",
		Example: "rdma_rxe: qp#17 moved to error state",
		trigger: re(`qp#\d+.*moved to error state`), fields: []*regexp.Regexp{re(`qp#(?P<qpn>\d+)`)}, noText: true,
	},
	{
		Name: "gorxe", Source: "gorxe internal/cli/session/completion.go",
		Example: "transport retry counter exceeded (RETRY_EXC_ERR) on QP 0x000011 after 3 messages",
		trigger: re(`\([A-Z_]+_ERR\) on QP 0x`),
		fields:  []*regexp.Regexp{re(`\((?P<name>[A-Z_]+_ERR)\)`), re(`on QP (?P<qpn>0x[0-9a-f]+)`)},
	},
	{
		Name: "gorxe", Source: "gorxe internal/serve/respond/queue.go",
		Example: "queue pair 0x000011, with ::ffff:198.18.0.2: RETRY_EXC_ERR: transport retry counter exceeded",
		trigger: re(`queue pair 0x[0-9a-f]+, with`),
		fields: []*regexp.Regexp{re(`queue pair (?P<qpn>0x[0-9a-f]+), with (?P<remote>` + addr + `):`),
			re(`: (?P<name>[A-Z_]+_ERR):`)},
	},
	{
		Name: "any program", Source: "names and texts of enum ibv_wc_status, and numbers of queue pairs",
		Example: "poll: IBV_WC_RETRY_EXC_ERR on qp_num 0x11, remote 198.18.0.2",
		fields: []*regexp.Regexp{
			re(`(?i)\bstatus[ =:#]+(?P<status>\d+)\b`),
			re(`(?i)\b(?:dest|remote|peer|d|r)_?qpn?(?:_?num)?[ =:#]+(?P<rqpn>0x[0-9a-f]+|\d+)`),
			re(`(?i)\bqpn?(?:_?num)?[ =:#]+(?P<qpn>0x[0-9a-f]+|\d+)`),
			re(`(?i)\b(?:local|src|source|sgid)[a-z_]*[ =:]+(?P<local>` + addr + `)`),
			re(`(?i)\b(?:remote|dst|dest|peer|dgid|to)[a-z_]*[ =:]+(?P<remote>\d+\.\d+\.\d+\.\d+|` + addr + `:` +
				addr + `)`),
		},
	},
}
