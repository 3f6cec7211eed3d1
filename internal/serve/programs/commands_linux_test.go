//go:build linux && (amd64 || arm64)

package programs

import "github.com/gorxe/gorxe/verbs"

// Tools that the tests run at both ends on one host, those of Debian 12 and of Debian trixie.
// docs/programs.md lists them.

// pingpongs are those of libibverbs.
var pingpongs = []string{
	"ibv_rc_pingpong -g 0 -n 50", "ibv_rc_pingpong -g 0 -n 50 -e", "ibv_uc_pingpong -g 0 -n 50 -e",
	"ibv_ud_pingpong -g 0 -n 50 -e -s 1024", "ibv_srq_pingpong -g 0 -n 50 -e",
}

var perftests = []string{
	"ib_write_bw -F -x 0 -s 65536 -n 200", "ib_read_bw -F -x 0 -s 65536 -n 200", "ib_send_bw -F -x 0 -s 65536 -n 200",
	"ib_write_bw -F -x 0 -a -n 5", "ib_write_bw -F -x 0 -b -q 4 -n 100", "ib_send_bw -F -x 0 -e -n 100",
	"ib_send_bw -F -x 0 -c UC -n 100",
	"ib_send_bw -F -x 0 -c UD -s 1024 -n 100", "ib_write_bw -F -x 0 -I 200 -s 128 -n 100",
	"ib_write_bw -F -x 0 -l 8 -n 160",
	"ib_send_bw -F -x 0 --use-srq -n 100", "ib_write_bw -F -x 0 -D 1", "ib_read_bw -F -x 0 -b -q 4 -n 100",
	"ib_write_lat -F -x 0 -n 100", "ib_send_lat -F -x 0 -n 100", "ib_send_lat -F -x 0 -e -n 100",
	"ib_read_lat -F -x 0 -n 100",
	"ib_atomic_bw -F -x 0 -n 100", "ib_atomic_lat -F -x 0 -A CMP_AND_SWAP -n 100",
}

const tcp, udp = verbs.PortSpaceTCP, verbs.PortSpaceUDP

// cmTools connect through rdma_cm. One of them copies a file.
func cmTools(in, out string) []tool {
	return []tool{
		{
			ps: tcp, server: "rping -s -a ADDR -p PORT -C 20 -v",
			client: "rping -c -a ADDR -p PORT -C 20 -v", says: "ping data: rdma-ping-19",
		},
		{
			ps: tcp, server: "rping -s -a ADDR -p PORT -C 20 -S 4096 -V",
			client: "rping -c -a ADDR -p PORT -C 20 -S 4096 -V",
		},
		{
			ps: tcp, server: "rping -s -P -p PORT",
			client: "rping -c -a ADDR -p PORT -C 20 -v", says: "ping data: rdma-ping-19", stays: true,
		},
		{
			ps: tcp, server: "ib_write_bw -F -R -p PORT -n 100",
			client: "ib_write_bw -F -R -p PORT -n 100 ADDR", says: "#bytes",
		},
		{
			ps: tcp, server: "ib_read_bw -F -R -p PORT -q 4 -n 100",
			client: "ib_read_bw -F -R -p PORT -q 4 -n 100 ADDR", says: "#bytes",
		},
		{
			ps: tcp, server: "ib_send_lat -F -R -e -p PORT -n 100",
			client: "ib_send_lat -F -R -e -p PORT -n 100 ADDR", says: "#bytes",
		},
		{
			ps: tcp, server: "ucmatose -b ADDR -p PORT -c 50 -C 5",
			client: "ucmatose -s ADDR -p PORT -c 50 -C 5", says: "return status 0",
		},
		{ps: tcp, server: "rdma_server -s ADDR -p PORT", client: "rdma_client -s ADDR -p PORT", says: "end 0"},
		{
			port: 7174, ps: udp, server: "udaddy -b ADDR -c 20 -C 5",
			client: "udaddy -s ADDR -c 20 -C 5", says: "return status 0",
		},
		{
			ps: tcp, server: "cmtime -b ADDR -p PORT -c 20",
			client: "cmtime -s ADDR -p PORT -c 20", says: "destroy", stays: true,
			// It also connects without queue pairs, with numbers from 1000 on at both ends. The
			// ends of one device need different numbers, as with one device of Linux
			// (cm_insert_remote_qpn in drivers/infiniband/core/cm.c).
			trixie: " -q 2000",
		},
		{
			ps: tcp, server: "rstream -b ADDR -p PORT -S 65536 -C 10",
			client: "rstream -s ADDR -p PORT -S 65536 -C 10", says: "64k",
		},
		{
			ps: tcp, server: "riostream -b ADDR -p PORT -S 65536 -C 10",
			client: "riostream -s ADDR -p PORT -S 65536 -C 10", says: "64k",
		},
		{port: 7427, ps: tcp, server: "rcopy", client: "rcopy " + in + " ADDR:" + out, says: "done", stays: true},
	}
}
