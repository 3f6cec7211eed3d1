package cm

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

func TestConversations(t *testing.T) {
	for _, tt := range []struct{ name, script string }{
		{"a connection from its beginning to its end", `
			connect
			> A REQ #1
			state #1 REQ_SENT
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			state #1 REP_RCVD
			ready #1
			> A RTU #1 0x22
			state #1 ESTABLISHED
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			state #1 DREQ_SENT
			< DREP 0x22 #1
			event DISCONNECTED #1
			state #1 TIMEWAIT
			advance 1s
			state #1 gone`},
		{"the same at the other end", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			state #1 REQ_RCVD
			open 1
			accept #1
			> A REP #1 0x22
			state #1 REP_SENT
			open 1
			< RTU 0x22 #1
			event ESTABLISHED #1
			open 0
			advance 1h
			state #1 ESTABLISHED
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			advance 1s
			state #1 gone`},
		{"a REQ without an answer is sent again, then given up with a REJ that names the GUID", `
			connect
			> A REQ #1
			advance 1.1s
			advance 300ms
			> A REQ #1
			advance 1.4s
			> A REQ #1
			advance 1.4s
			> A REJ #1 0x0 other 4 ari
			event UNREACHABLE #1
			state #1 gone`},
		{"an RTU is repeated after twice the wait before, until the peer has given up", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			advance 150ms
			advance 1ms
			> A RTU #1 0x22
			advance 301ms
			advance 1ms
			> A RTU #1 0x22
			advance 604ms
			> A RTU #1 0x22
			advance 1208ms
			> A RTU #1 0x22
			advance 1h
			state #1 ESTABLISHED`},
		{"an RTU is not repeated when the peer gives up, however late the timer fires", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			late 3.623878656s          // three times 1.207959552s
			advance 1h
			state #1 ESTABLISHED`},
		{"an RTU is repeated until the peer gives up, however late the timer fires", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			late 3.623878655s
			> A RTU #1 0x22
			advance 1h
			state #1 ESTABLISHED`},
		{"an RTU is not repeated once the peer has sent something, but for its REP", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			data #1
			advance 1s
			< REP 0x22 #1
			> A RTU #1 0x22
			advance 1h
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			data #1
			advance 600ms
			> A DREQ #1 0x22 qpn=0x33
			< DREP 0x22 #1
			event DISCONNECTED #1`},
		{"a REP without an answer is sent again after twice the wait before, then given up", `
			listen 7
			< REQ 0x22 retries=15
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			advance 1.2s
			advance 10ms
			> A REP #1 0x22
			advance 2.41s
			advance 10ms
			> A REP #1 0x22
			advance 4.82s
			advance 10ms
			> A REP #1 0x22
			advance 9.65s
			advance 10ms
			> A REP #1 0x22
			advance 1.2s
			advance 10ms
			> A DREQ #1 0x22 qpn=0x33
			event UNREACHABLE #1
			open 0
			state #1 TIMEWAIT
			advance 1s
			state #1 gone`},
		{"a REP is given up when as many retries as the peer asks for would be over", `
			listen 7
			< REQ 0x22 retries=2
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			advance 1.21s
			> A REP #1 0x22
			advance 2.41s
			advance 10ms
			> A DREQ #1 0x22 qpn=0x33
			event UNREACHABLE #1
			< REQ 0x23 qpn=0x34 retries=0
			event REQUESTED #2 qpn=0x34
			accept #2
			> A REP #2 0x23
			advance 1.21s
			> A DREQ #2 0x23 qpn=0x34
			event UNREACHABLE #2`},
		{"a duplicate REQ gets the REP, and it is repeated as after the first", `
			listen 7
			< REQ 0x22 retries=15
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			advance 8.5s
			> A REP #1 0x22
			> A REP #1 0x22
			> A REP #1 0x22
			< REQ 0x22 retries=15
			> A REP #1 0x22
			advance 1.21s
			> A REP #1 0x22
			advance 2.42s
			> A REP #1 0x22
			< RTU 0x22 #1
			event ESTABLISHED #1`},
		{"a DREQ without an answer is sent seven times again, and the connection is over", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			advance 3.6s
			> A DREQ #1 0x22 qpn=0x33
			> A DREQ #1 0x22 qpn=0x33
			> A DREQ #1 0x22 qpn=0x33
			> A DREQ #1 0x22 qpn=0x33
			> A DREQ #1 0x22 qpn=0x33
			> A DREQ #1 0x22 qpn=0x33
			> A DREQ #1 0x22 qpn=0x33
			advance 400ms
			event DISCONNECTED #1
			state #1 TIMEWAIT`},
		{"data that overtakes the RTU establishes nothing, but has the REP ask for one that was lost", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			data #1
			advance 9ms
			state #1 REP_SENT
			advance 1ms
			> A REP #1 0x22
			data #1
			advance 1s
			< RTU 0x22 #1
			event ESTABLISHED #1
			data #1
			< REQ 0x23 qpn=0x34
			event REQUESTED #2 qpn=0x34
			accept #2
			> A REP #2 0x23
			data #2
			advance 9ms
			< RTU 0x23 #2
			event ESTABLISHED #2
			advance 1h`},
		{"a duplicate REQ gets MRA while the program thinks, and the REP again once it has answered", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REQ 0x22
			> A MRA #1 0x22 REQ
			verdict duplicate
			accept #1
			> A REP #1 0x22
			< REQ 0x22
			> A REP #1 0x22
			verdict duplicate
			< RTU 0x22 #1
			event ESTABLISHED #1
			< REQ 0x22
			verdict duplicate`},
		{"a duplicate REP gets MRA while the program thinks, and the RTU again once it has answered", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			< REP 0x22 #1
			> A MRA #1 0x22 REP
			ready #1
			> A RTU #1 0x22
			< REP 0x22 #1
			> A RTU #1 0x22
			verdict duplicate`},
		{"an MRA moves the deadline by what it asks for", `
			connect
			> A REQ #1
			< MRA 0x22 #1 t=22
			verdict taken
			advance 17s
			advance 1s
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33`},
		{"an MRA for a REP moves its deadline", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< MRA 0x22 #1 t=22
			advance 17s
			advance 1s
			> A REP #1 0x22
			< RTU 0x22 #1
			event ESTABLISHED #1`},
		{"an MRA that was overtaken by data does not delay the REP that asks for the RTU", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			data #1
			< MRA 0x22 #1 t=22
			advance 10ms
			> A REP #1 0x22
			advance 1s
			< RTU 0x22 #1
			event ESTABLISHED #1`},
		{"an MRA for the last REP has it sent once more", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			advance 1.21s
			> A REP #1 0x22
			< MRA 0x22 #1 t=22
			advance 17s
			advance 1s
			> A REP #1 0x22
			advance 3.6s
			> A DREQ #1 0x22 qpn=0x33
			event UNREACHABLE #1`},
		{"an MRA that asks for hours gets the patience of the configuration", `
			connect
			> A REQ #1
			< MRA 0x22 #1 t=31
			advance 89s
			advance 1s
			> A REQ #1
			cancel #1
			> A REJ #1 0x0 other 4 ari`},
		{"all MRAs for a REP together get the patience of the configuration", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< MRA 0x22 #1 t=31
			verdict taken
			advance 80s
			< MRA 0x22 #1 t=31
			verdict duplicate
			advance 11s
			> A REP #1 0x22
			< MRA 0x22 #1 t=31
			verdict duplicate
			advance 60s
			> A DREQ #1 0x22 qpn=0x33
			event UNREACHABLE #1
			open 0`},
		{"the program refuses", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			reject #1
			> A REJ #1 0x22 REQ 28
			open 0
			state #1 gone`},
		{"the program refuses a REP", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			reject #1
			> A REJ #1 0x22 REP 28
			state #1 gone`},
		{"a REJ of a REQ may come from a side that has no communication ID", `
			connect
			> A REQ #1
			< REJ 0x22 #1 from=B
			verdict wrong_peer
			< REJ 0 #1 reason=8
			event REJECTED #1 REJ 8
			state #1 gone`},
		{"a REJ of a REP ends in timewait", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< REJ 0x22 #1
			event REJECTED #1 REJ 28
			open 0
			state #1 TIMEWAIT`},
		{"a peer that gave up is found by its GUID", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REJ 0x22 0 reason=4 guid=0x77
			event REJECTED #1 REJ 4
			state #1 gone
			open 0`},
		{"the GUID of another does not find it", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REJ 0x22 0 reason=4 guid=0x78
			verdict unknown_connection
			< REJ 0x22 0 reason=4 guid=0x77 from=B
			verdict unknown_connection
			state #1 REQ_RCVD`},
		{"no REJ ends an established connection", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			< REJ 0 #1 reason=8
			verdict unknown_connection
			< REJ 0x23 #1 reason=4
			verdict unknown_connection
			< REJ 0x22 0 reason=4 guid=0x77
			verdict unknown_connection
			< REJ 0x22 #1 reason=4 guid=0x77
			verdict out_of_place
			state #1 ESTABLISHED`},
		{"nor does one at the other end", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< RTU 0x22 #1
			event ESTABLISHED #1
			< REJ 0 #1 reason=8
			verdict unknown_connection
			< REJ 0x22 0 reason=4 guid=0x77
			verdict unknown_connection
			< REJ 0x22 #1 reason=4 guid=0x77
			verdict out_of_place
			state #1 ESTABLISHED`},
		{"once a REP was sent or received a REJ must name both communication IDs", `
			listen 7
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			< REJ 0 #1 reason=8
			verdict unknown_connection
			< REJ 0x22 0 reason=4 guid=0x77
			verdict unknown_connection
			state #1 REP_RCVD
			< REJ 0x22 #1
			event REJECTED #1 REJ 28
			< REQ 0x23 qpn=0x34
			event REQUESTED #2 qpn=0x34
			< REJ 0 #2 reason=8
			verdict unknown_connection
			state #2 REQ_RCVD
			accept #2
			> A REP #2 0x23
			< REJ 0 #2 reason=8
			verdict unknown_connection
			< REJ 0x23 0 reason=4 guid=0x77
			verdict unknown_connection
			state #2 REP_SENT
			< REJ 0x23 #2
			event REJECTED #2 REJ 28`},
		{"a DREQ that overtakes its REP ends the request", `
			connect
			> A REQ #1
			< DREQ 0x22 #1 qpn=0x12
			verdict wrong_qpn
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			state #1 TIMEWAIT
			< REP 0x22 #1
			verdict duplicate
			advance 1s
			state #1 gone`},
		{"a DREQ that overtakes its REP tells the peer's communication ID, which others do not have", `
			connect
			> A REQ #1
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			< DREQ 0x23 #1
			> A DREP #1 0x23
			verdict unknown_connection
			< DREQ 0x22 #1
			> A DREP #1 0x22
			verdict duplicate
			state #1 TIMEWAIT`},
		{"an RTU that finds its connection over is answered with DREQ", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			cancel #1
			> A DREQ #1 0x22 qpn=0x33
			state #1 TIMEWAIT
			< RTU 0x23 #1
			verdict unknown_connection
			< RTU 0x22 #1
			> A DREQ #1 0x22 qpn=0x33
			verdict duplicate
			< DREP 0x22 #1
			verdict duplicate`},
		{"nobody listens", `
			< REQ 0x22
			> A REJ 0x0 0x22 REQ 8
			verdict no_listener
			listen 7 udp
			< REQ 0x22
			> A REJ 0x0 0x22 REQ 8
			< REQ 0x22 ps=0x111
			> A REJ 0x0 0x22 REQ 8
			verdict no_listener`},
		{"a listener at an address goes before one at any", `
			listen 7 gid=1
			< REQ 0x22
			> A REJ 0x0 0x22 REQ 8
			listen 7
			refused listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REQ 0x23 gid=1 qpn=0x34
			event REQUESTED #2 qpn=0x34
			backlog 1 1
			unlisten
			< REQ 0x24 gid=1 qpn=0x35
			event REQUESTED #3 qpn=0x35
			backlog 2
			unlisten
			< REQ 0x25 gid=1 qpn=0x36
			> A REJ 0x0 0x25 REQ 8
			accept #1
			> A REP #1 0x22`},
		{"a queue pair of another connection is stale in a REQ, and a peer that lost the connection says so", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< RTU 0x22 #1
			event ESTABLISHED #1
			< REQ 0x25
			> A DREQ #1 0x22 qpn=0x0
			verdict suspect
			state #1 ESTABLISHED
			< DREP 0x22 #1
			verdict out_of_place
			< DREP 0x22 #1 tid=probe
			event DISCONNECTED #1
			state #1 TIMEWAIT
			< REQ 0x25
			event REQUESTED #2 qpn=0x33
			state #1 TIMEWAIT`},
		{"a REQ that its peer has not confirmed keeps no other of the same queue pair out", `
			listen 7
			< REQ 0x99                     // forged: the peer's GUID and queue pair
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x99
			< REQ 0x22
			event REQUESTED #2 qpn=0x33
			< REQ 0x98
			event REQUESTED #3 qpn=0x33
			accept #2
			> A REP #2 0x22
			< RTU 0x22 #2
			event ESTABLISHED #2
			< REQ 0x97
			> A DREQ #2 0x22 qpn=0x0
			verdict suspect
			reject #3
			> A REJ #3 0x98 REQ 28
			advance 1.21s
			> A REP #1 0x99
			advance 2.42s
			> A DREQ #1 0x99 qpn=0x33
			event UNREACHABLE #1
			state #2 ESTABLISHED`},
		{"a forged REQ for the queue pair that a peer answers with keeps no REP out", `
			listen 7
			< REQ 0x99
			event REQUESTED #1 qpn=0x33
			connect
			> A REQ #2
			< REP 0x22 #2
			event REPLIED #2 qpn=0x33
			ready #2
			> A RTU #2 0x22
			accept #1
			> A REP #1 0x99
			< RTU 0x99 #1
			> A DREQ #2 0x22 qpn=0x0
			verdict suspect
			state #1 REP_SENT
			state #2 ESTABLISHED`},
		{"of two requests for one queue pair the first that is confirmed has it, until its peer has lost it", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REQ 0x23
			event REQUESTED #2 qpn=0x33
			accept #1
			> A REP #1 0x22
			accept #2
			> A REP #2 0x23
			< RTU 0x22 #1
			event ESTABLISHED #1
			< RTU 0x23 #2
			> A DREQ #1 0x22 qpn=0x0
			verdict suspect
			state #2 REP_SENT
			< RTU 0x23 #2
			> A DREQ #1 0x22 qpn=0x0
			< RTU 0x23 #2
			> A DREQ #1 0x22 qpn=0x0
			< RTU 0x23 #2
			verdict stale
			state #1 ESTABLISHED
			state #2 REP_SENT
			< RTU 0x23 #2
			> A DREQ #1 0x22 qpn=0x0
			< DREP 0x22 #1 tid=probe
			event DISCONNECTED #1
			< RTU 0x23 #2
			event ESTABLISHED #2
			< REQ 0x24
			> A DREQ #2 0x23 qpn=0x0
			verdict suspect`},
		{"a request that ends leaves the queue pair to the connection that has it", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REQ 0x99
			event REQUESTED #2 qpn=0x33
			accept #1
			> A REP #1 0x22
			accept #2
			> A REP #2 0x99
			< RTU 0x22 #1
			event ESTABLISHED #1
			cancel #2
			> A DREQ #2 0x99 qpn=0x33
			< REQ 0x23
			> A DREQ #1 0x22 qpn=0x0
			verdict suspect`},
		{"no REQ ends a connection that its peer has", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< RTU 0x22 #1
			event ESTABLISHED #1
			< DREP 0x22 #1
			verdict out_of_place
			< REQ 0x25
			> A DREQ #1 0x22 qpn=0x0
			< REQ 0x25
			> A DREQ #1 0x22 qpn=0x0
			< DREP 0x23 #1
			verdict unknown_connection
			< DREP 0x22 #1 from=B
			verdict wrong_peer
			< REQ 0x26
			> A DREQ #1 0x22 qpn=0x0
			< REQ 0x26
			> A REJ 0x0 0x26 REQ 10
			verdict stale
			< REQ 0x26
			> A DREQ #1 0x22 qpn=0x0
			advance 1h
			state #1 ESTABLISHED`},
		{"a peer that is asked for a connection that it has is silent", `
			listen 7
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			< DREQ 0x22 #1 qpn=0
			verdict wrong_qpn
			state #1 ESTABLISHED`},
		{"a queue pair of a connection that rests is the peer's to use again", `
			listen 7
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			connect
			> A REQ #2
			< REP 0x23 #2
			event REPLIED #2 qpn=0x33
			advance 1s
			state #1 gone
			< REQ 0x24
			> A REJ 0x0 0x24 REQ 10`},
		{"another address with the same GUID and queue pair is another connection", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REQ 0x22 from=B
			event REQUESTED #2 qpn=0x33
			accept #1
			> A REP #1 0x22
			accept #2
			> B REP #2 0x22`},
		{"a queue pair of another connection is stale in a REP", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			connect
			> A REQ #2
			< REP 0x23 #2
			> A REJ #2 0x23 REP 10
			> A DREQ #1 0x22 qpn=0x0
			event REJECTED #2 REJ 10
			verdict stale
			state #2 gone
			state #1 ESTABLISHED
			< DREP 0x22 #1 tid=probe
			event DISCONNECTED #1`},
		{"a REQ that differs from one with the same communication ID is no copy of it, and the RTU says which is the peer's", `
			listen 7
			< REQ 0x22 qpn=0x34
			event REQUESTED #1 qpn=0x34
			accept #1
			> A REP #1 0x22
			< REQ 0x22 tid=5
			event REQUESTED #2 qpn=0x33
			< REQ 0x22 tid=5 ack=16
			event REQUESTED #3 qpn=0x33
			< REQ 0x22
			event REQUESTED #4 qpn=0x33
			accept #4
			> A REP #4 0x22
			< REQ 0x22
			> A REP #4 0x22
			verdict duplicate
			< REJ 0x22 #1
			event REJECTED #1 REJ 28
			< RTU 0x22 #4
			event ESTABLISHED #4
			accept #2
			> A REP #2 0x22
			< RTU 0x22 #2
			> A DREQ #4 0x22 qpn=0x0
			verdict suspect
			state #2 REP_SENT
			state #4 ESTABLISHED
			< REQ 0x22
			verdict duplicate
			< REQ 0x22 qpn=0x35
			verdict duplicate`},
		{"of two requests with one communication ID and two queue pairs the one that the RTU names is established", `
			listen 7
			< REQ 0x22 qpn=0x34
			event REQUESTED #1 qpn=0x34
			accept #1
			> A REP #1 0x22
			< REQ 0x22
			event REQUESTED #2 qpn=0x33
			accept #2
			> A REP #2 0x22
			< RTU 0x22 #2
			event ESTABLISHED #2
			< RTU 0x22 #1
			verdict stale
			state #1 REP_SENT
			state #2 ESTABLISHED`},
		{"a request is a copy only at the same entry of the GID table", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			< REQ 0x22 gid=1
			event REQUESTED #2 qpn=0x33`},
		{"a peer that gave up is found by the transaction of its REQ", `
			listen 7
			< REQ 0x22 tid=5
			event REQUESTED #1 qpn=0x33
			< REQ 0x22
			event REQUESTED #2 qpn=0x33
			< REJ 0x22 0 reason=4 guid=0x77 tid=6
			verdict unknown_connection
			< REJ 0x22 0 reason=4 guid=0x77
			event REJECTED #2 REJ 4
			state #1 REQ_RCVD
			accept #1
			> A REP #1 0x22
			< REJ 0x22 0 reason=4 guid=0x77 tid=5
			verdict unknown_connection
			state #1 REP_SENT`},
		{"a SIDR_REQ that differs from one with the same ID is no copy of it", `
			listen 7 udp
			< SIDR_REQ 0x22 tid=5
			event SIDR_REQUESTED #1
			< SIDR_REQ 0x22
			event SIDR_REQUESTED #2
			answer #2
			> A SIDR_REP 0x22 0
			< SIDR_REQ 0x22
			> A SIDR_REP 0x22 0
			verdict duplicate
			< SIDR_REQ 0x22 tid=5
			verdict duplicate`},
		{"a late REQ of a connection that is over is stale", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< RTU 0x22 #1
			event ESTABLISHED #1
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			< DREP 0x22 #1
			event DISCONNECTED #1
			< REQ 0x22
			> A REJ 0x0 0x22 REQ 10
			verdict stale`},
		{"two DREQs that cross answer each other", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			< DREP 0x22 #1
			verdict duplicate
			< DREQ 0x22 #1
			> A DREP #1 0x22
			verdict duplicate`},
		{"a DREQ in timewait after a DREP is answered", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			< DREP 0x22 #1
			event DISCONNECTED #1
			< DREQ 0x22 #1
			> A DREP #1 0x22`},
		{"a DREQ establishes and ends a connection whose RTU was lost", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			open 0`},
		{"a DREQ to an address at which nobody may be is not repeated", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			advance 600ms
			event DISCONNECTED #1
			state #1 TIMEWAIT`},
		{"a request is withdrawn without a word while nobody has answered", `
			connect
			> A REQ #1
			withdraw #1
			state #1 gone
			resolve
			> A SIDR_REQ #2
			withdraw #2
			state #2 gone
			refused withdraw #2
			connect
			> A REQ #3
			< REP 0x22 #3
			event REPLIED #3 qpn=0x33
			refused withdraw #3
			ready #3
			> A RTU #3 0x22
			refused withdraw #3`},
		{"a request that is left without an answer comes again as a new one", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			ignored 0
			ignore #1
			ignored 1
			state #1 gone
			< REQ 0x22
			event REQUESTED #2 qpn=0x33
			accept #2
			> A REP #2 0x22
			refused ignore #2
			ignored 1`},
		{"a request for a service ID is left without an answer", `
			listen 7 udp
			< SIDR_REQ 0x22
			event SIDR_REQUESTED #1
			ignore #1
			state #1 gone
			< SIDR_REQ 0x22
			event SIDR_REQUESTED #2`},
		{"the passive side may disconnect before the RTU", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			disconnect #1
			> A DREQ #1 0x22 qpn=0x33
			open 0
			< RTU 0x22 #1
			verdict out_of_place
			< DREP 0x22 #1
			event DISCONNECTED #1`},
		{"a DREQ while the program has not taken the REP ends the connection", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			refused ready #1`},
		{"what belongs to no connection is answered so that it need not be repeated", `
			< DREQ 0x22 0x44
			> A DREP 0x44 0x22
			verdict unknown_connection
			< REP 0x22 0x44
			> A REJ 0x44 0x22 REP 6
			< RTU 0x22 0x44
			verdict unknown_connection
			< MRA 0x22 0x44
			< REJ 0x22 0x44
			< DREP 0x22 0x44
			< SIDR_REP 0x44
			verdict unknown_connection`},
		{"a message for a connection from another address, or with another ID of the peer, is a stranger's", `
			connect
			> A REQ #1
			< REP 0x22 #1 from=B
			> B REJ #1 0x22 REP 6
			verdict wrong_peer
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			< DREQ 0x22 #1 from=B
			> B DREP #1 0x22
			verdict wrong_peer
			< DREQ 0x23 #1
			> A DREP #1 0x23
			verdict unknown_connection
			< DREQ 0x22 #1 qpn=0x12
			verdict wrong_qpn
			state #1 ESTABLISHED`},
		{"what has no place in a state is dropped", `
			listen 7
			connect
			> A REQ #1
			< RTU 0x22 #1
			verdict out_of_place
			< DREP 0x22 #1
			verdict out_of_place
			< REQ 0x23 qpn=0x34
			event REQUESTED #2 qpn=0x34
			< RTU 0x23 #2
			verdict out_of_place
			< REP 0x23 #2
			verdict out_of_place
			accept #2
			> A REP #2 0x23
			< RTU 0x23 #2
			event ESTABLISHED #2
			< REP 0x23 #2
			verdict out_of_place`},
		{"alternate paths are not supported", `
			< LAP 0x22 0x33
			verdict unsupported`},
		{"the program gives up before the REP: the peer is told, and a late REP refused", `
			connect
			> A REQ #1
			cancel #1
			> A REJ #1 0x0 other 4 ari
			state #1 gone
			< REP 0x22 #1
			> A REJ #1 0x22 REP 6`},
		{"the program gives up after the REP", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			cancel #1
			> A REJ #1 0x22 REP 4 ari
			state #1 gone`},
		{"the program gives up a request that it accepted", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			cancel #1
			> A DREQ #1 0x22 qpn=0x33
			open 0
			state #1 TIMEWAIT`},
		{"a program that never answers a request loses it", `
			listen 7
			< REQ 0x22
			event REQUESTED #1 qpn=0x33
			advance 89s
			< REQ 0x22
			> A MRA #1 0x22 REQ
			advance 89s
			advance 1s
			> A REJ #1 0x22 REQ 4 ari
			event UNREACHABLE #1
			open 0
			refused accept #1`},
		{"a program that never takes a REP loses it", `
			connect
			> A REQ #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			advance 90s
			> A REJ #1 0x22 REP 4 ari
			event UNREACHABLE #1
			state #1 gone`},
		{"calls in the wrong state are refused", `
			refused accept #1
			refused disconnect #1
			listen 7
			connect
			> A REQ #1
			refused accept #1
			refused ready #1
			refused disconnect #1
			refused reject #1
			refused answer #1
			data #1
			< REP 0x22 #1
			event REPLIED #1 qpn=0x33
			ready #1
			> A RTU #1 0x22
			refused cancel #1
			refused ready #1`},
		{"private data that is too long is refused and changes nothing", `
			listen 7
			refused connect private=93
			state #1 gone
			refused resolve private=217
			state #2 gone
			< REQ 0x22
			event REQUESTED #3 qpn=0x33
			refused accept #3 private=197
			refused reject #3 private=149
			state #3 REQ_RCVD
			accept #3 private=196
			> A REP #3 0x22
			< RTU 0x22 #3
			event ESTABLISHED #3
			refused disconnect #3 private=221
			state #3 ESTABLISHED
			connect private=92
			> A REQ #4
			< REP 0x23 #4 qpn=0x34
			event REPLIED #4 qpn=0x34
			refused ready #4 private=225
			ready #4 private=224
			> A RTU #4 0x23
			listen 7 udp
			< SIDR_REQ 0x24
			event SIDR_REQUESTED #5
			refused answer #5 private=137
			answer #5 private=136
			> A SIDR_REP 0x24 0`},
		{"a datagram queue pair is found", `
			resolve
			> A SIDR_REQ #1
			state #1 SIDR_REQ_SENT
			advance 1s
			> A SIDR_REQ #1
			< SIDR_REP #1 from=B
			verdict wrong_peer
			< SIDR_REP #1
			event RESOLVED #1 qpn=0x33
			state #1 gone`},
		{"nobody answers for a datagram queue pair", `
			resolve
			> A SIDR_REQ #1
			advance 2s
			> A SIDR_REQ #1
			> A SIDR_REQ #1
			advance 1s
			event UNREACHABLE #1
			state #1 gone`},
		{"the program no longer wants a datagram queue pair", `
			resolve
			> A SIDR_REQ #1
			cancel #1
			state #1 gone`},
		{"a datagram queue pair is told, once more if the answer was lost, and the program asked once", `
			listen 7 udp
			< SIDR_REQ 0x22
			event SIDR_REQUESTED #1
			open 1
			< SIDR_REQ 0x22
			verdict duplicate
			answer #1
			> A SIDR_REP 0x22 0
			open 0
			< SIDR_REQ 0x22
			> A SIDR_REP 0x22 0
			verdict duplicate
			advance 10s
			state #1 gone`},
		{"nobody listens for datagrams", `
			listen 7
			< SIDR_REQ 0x22
			> A SIDR_REP 0x22 1
			verdict no_listener
			< SIDR_REQ 0x22 ps=0x106
			> A SIDR_REP 0x22 1
			verdict no_listener`},
		{"a program that never answers for a datagram queue pair loses the request", `
			listen 7 udp
			< SIDR_REQ 0x22
			event SIDR_REQUESTED #1
			advance 90s
			event UNREACHABLE #1
			open 0
			< SIDR_REQ 0x23
			event SIDR_REQUESTED #2
			cancel #2
			state #2 gone`},
		{"a peer's choice of times is kept within bounds", `
			listen 7
			< REQ 0x22 response=0 ack=1
			event REQUESTED #1 qpn=0x33
			accept #1
			> A REP #1 0x22
			advance 499ms
			advance 1ms
			> A REP #1 0x22
			< DREQ 0x22 #1
			> A DREP #1 0x22
			event DISCONNECTED #1 DREQ
			< REQ 0x23 response=31 qpn=0x34 ack=31
			event REQUESTED #2 qpn=0x34
			accept #2
			> A REP #2 0x23
			advance 8.5s
			advance 100ms
			> A REP #2 0x23
			< DREQ 0x23 #2
			> A DREP #2 0x23
			event DISCONNECTED #2 DREQ
			advance 4.2s
			state #2 TIMEWAIT
			advance 100ms
			state #2 gone`},
	} {
		t.Run(tt.name, func(t *testing.T) { runScript(t, Config{}, tt.script) })
	}
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		name      string
		cfg       Config
		forgotten int
		script    string
	}{
		{"the backlog of a listener", Config{}, 0, `
			listen 7 backlog=2
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			< REQ 0x2 qpn=0x2
			event REQUESTED #2 qpn=0x2
			< REQ 0x3 qpn=0x3
			verdict backlog_peer
			accept #1
			> A REP #1 0x1
			< REQ 0x3 qpn=0x3
			event REQUESTED #3 qpn=0x3`},
		{"a full backlog has room for other peers' shares", Config{}, 0, `
			listen 7 backlog=4
			listen 7 udp backlog=1
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			< REQ 0x2 qpn=0x2
			event REQUESTED #2 qpn=0x2
			< REQ 0x3 qpn=0x3
			event REQUESTED #3 qpn=0x3
			< REQ 0x4 qpn=0x4
			event REQUESTED #4 qpn=0x4
			< REQ 0x5 qpn=0x5
			verdict backlog_peer
			< REQ 0x1 qpn=0x1 from=B
			event REQUESTED #5 qpn=0x1
			< REQ 0x2 qpn=0x2 from=B
			event REQUESTED #6 qpn=0x2
			< REQ 0x3 qpn=0x3 from=B
			verdict backlog_peer
			< REQ 0x1 qpn=0x1 from=C
			event REQUESTED #7 qpn=0x1
			< REQ 0x2 qpn=0x2 from=C
			verdict backlog_peer
			< REQ 0x1 qpn=0x1 from=D
			event REQUESTED #8 qpn=0x1
			< REQ 0x1 qpn=0x1 from=E
			verdict backlog
			backlog 8 0
			reject #5
			> B REJ #5 0x1 REQ 28
			reject #6
			> B REJ #6 0x2 REQ 28
			< REQ 0x5 qpn=0x5
			verdict backlog_peer
			< REQ 0x4 qpn=0x4 from=B
			event REQUESTED #9 qpn=0x4
			< SIDR_REQ 0x6
			event SIDR_REQUESTED #10
			< SIDR_REQ 0x7
			verdict backlog_peer
			< SIDR_REQ 0x6 from=B
			event SIDR_REQUESTED #11
			< SIDR_REQ 0x6 from=C
			verdict backlog`},
		{"the half-open connections of one peer leave others alone", Config{MaxHalfOpenPeer: 1}, 0, `
			listen 7
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			< REQ 0x2 qpn=0x2
			verdict half_open_peer
			< REQ 0x2 qpn=0x2 from=B
			event REQUESTED #2 qpn=0x2
			accept #1
			> A REP #1 0x1
			< RTU 0x1 #1
			event ESTABLISHED #1
			< REQ 0x2 qpn=0x2
			event REQUESTED #3 qpn=0x2`},
		{"the half-open connections of all", Config{MaxHalfOpen: 2}, 0, `
			listen 7
			listen 7 udp
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			< SIDR_REQ 0x2 from=B
			event SIDR_REQUESTED #2
			< REQ 0x3 qpn=0x3 from=C
			verdict half_open
			< SIDR_REQ 0x3 from=C
			verdict half_open
			reject #1
			> A REJ #1 0x1 REQ 28
			< REQ 0x3 qpn=0x3 from=C
			event REQUESTED #3 qpn=0x3`},
		{"of a peer's half-open connections the one answered first makes room", Config{MaxHalfOpenPeer: 3}, 0, `
			listen 7
			listen 7 udp
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			< REQ 0x2 qpn=0x2
			event REQUESTED #2 qpn=0x2
			< REQ 0x3 qpn=0x3
			event REQUESTED #3 qpn=0x3
			< REQ 0x4 qpn=0x4
			verdict half_open_peer         // the program has answered none
			accept #2
			> A REP #2 0x2
			accept #1
			> A REP #1 0x1
			< REQ 0x4 qpn=0x4
			> A DREQ #2 0x2 qpn=0x2
			event UNREACHABLE #2
			event REQUESTED #4 qpn=0x4
			verdict taken
			open 3
			displaced 1
			state #2 TIMEWAIT
			refused disconnect #2
			< SIDR_REQ 0x5
			> A DREQ #1 0x1 qpn=0x1
			event UNREACHABLE #1
			event SIDR_REQUESTED #5
			displaced 2
			< REQ 0x6 qpn=0x6
			verdict half_open_peer         // one that waits for the program is not displaced
			< REQ 0x6 qpn=0x6 from=B
			event REQUESTED #6 qpn=0x6
			accept #3
			> A REP #3 0x3
			accept #6
			> B REP #6 0x6
			< RTU 0x6 #6 from=B
			event ESTABLISHED #6
			< RTU 0x3 #3
			event ESTABLISHED #3
			advance 10s
			state #1 gone
			state #2 gone`},
		{"no request displaces a connection that is established or is being ended",
			Config{MaxHalfOpenPeer: 1, MaxHalfOpen: 1}, 0, `
			listen 7
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			accept #1
			> A REP #1 0x1
			< RTU 0x1 #1
			event ESTABLISHED #1
			< REQ 0x2 qpn=0x2
			event REQUESTED #2 qpn=0x2
			accept #2
			> A REP #2 0x2
			disconnect #2
			> A DREQ #2 0x2 qpn=0x2
			< REQ 0x3 qpn=0x3
			event REQUESTED #3 qpn=0x3
			< REQ 0x4 qpn=0x4
			verdict half_open_peer
			< REQ 0x4 qpn=0x4 from=B
			verdict half_open
			state #1 ESTABLISHED
			state #2 DREQ_SENT
			displaced 0`},
		{"a displaced request is taken anew when its sender repeats it", Config{MaxHalfOpenPeer: 1}, 0, `
			listen 7
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			accept #1
			> A REP #1 0x1
			< REQ 0x2 qpn=0x2
			> A DREQ #1 0x1 qpn=0x1
			event UNREACHABLE #1
			event REQUESTED #2 qpn=0x2
			accept #2
			> A REP #2 0x2
			< REQ 0x1 qpn=0x1
			> A DREQ #2 0x2 qpn=0x2
			event UNREACHABLE #2
			event REQUESTED #3 qpn=0x1
			accept #3
			> A REP #3 0x1
			< RTU 0x1 #3
			event ESTABLISHED #3
			advance 10s
			state #1 gone
			state #2 gone
			< REQ 0x1 qpn=0x1
			verdict duplicate`},
		{"an RTU for a displaced request is answered with DREQ", Config{MaxHalfOpenPeer: 1}, 0, `
			listen 7
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			accept #1
			> A REP #1 0x1
			< REQ 0x2 qpn=0x2
			> A DREQ #1 0x1 qpn=0x1
			event UNREACHABLE #1
			event REQUESTED #2 qpn=0x2
			< RTU 0x1 #1
			> A DREQ #1 0x1 qpn=0x1
			verdict duplicate
			< DREP 0x1 #1
			verdict duplicate`},
		{"a displaced request that finds no room to rest is forgotten",
			Config{MaxHalfOpenPeer: 1, MaxTimewaitPeer: 1}, 1, `
			listen 7
			< REQ 0x1 qpn=0x1
			event REQUESTED #1 qpn=0x1
			accept #1
			> A REP #1 0x1
			< REQ 0x2 qpn=0x2
			> A DREQ #1 0x1 qpn=0x1
			event UNREACHABLE #1
			event REQUESTED #2 qpn=0x2
			accept #2
			> A REP #2 0x2
			< REQ 0x3 qpn=0x3
			> A DREQ #2 0x2 qpn=0x2
			event UNREACHABLE #2
			event REQUESTED #3 qpn=0x3
			state #1 TIMEWAIT
			state #2 gone`},
		{"where all are half-open a peer displaces its own, or the one of all that was answered first if it has less than its share", Config{MaxHalfOpen: 4}, 0, `
			listen 7
			< REQ 0x1 qpn=0x1 from=B
			event REQUESTED #1 qpn=0x1
			accept #1
			> B REP #1 0x1
			< REQ 0x2 qpn=0x2
			event REQUESTED #2 qpn=0x2
			accept #2
			> A REP #2 0x2
			< REQ 0x3 qpn=0x3
			event REQUESTED #3 qpn=0x3
			accept #3
			> A REP #3 0x3
			< REQ 0x4 qpn=0x4
			event REQUESTED #4 qpn=0x4
			< REQ 0x5 qpn=0x5          // A has 3, a share is 2
			> A DREQ #2 0x2 qpn=0x2
			event UNREACHABLE #2
			event REQUESTED #5 qpn=0x5
			< REQ 0x6 qpn=0x6 from=C   // C has none
			> B DREQ #1 0x1 qpn=0x1
			event UNREACHABLE #1
			event REQUESTED #6 qpn=0x6
			< REQ 0x7 qpn=0x7
			> A DREQ #3 0x3 qpn=0x3
			event UNREACHABLE #3
			event REQUESTED #7 qpn=0x7
			< REQ 0x8 qpn=0x8
			verdict half_open
			< REQ 0x8 qpn=0x8 from=C
			verdict half_open
			open 4
			displaced 3`},
		{"where all are half-open a peer that has just its share displaces its own", Config{MaxHalfOpen: 4}, 0, `
			listen 7
			< REQ 0x1 qpn=0x1 from=B
			event REQUESTED #1 qpn=0x1
			accept #1
			> B REP #1 0x1
			< REQ 0x2 qpn=0x2 from=B
			event REQUESTED #2 qpn=0x2
			< REQ 0x3 qpn=0x3
			event REQUESTED #3 qpn=0x3
			accept #3
			> A REP #3 0x3
			< REQ 0x4 qpn=0x4
			event REQUESTED #4 qpn=0x4
			< REQ 0x5 qpn=0x5          // A has 2, which is the share of each, and B's #1 was answered first
			> A DREQ #3 0x3 qpn=0x3
			event UNREACHABLE #3
			event REQUESTED #5 qpn=0x5
			state #1 REP_SENT
			displaced 1`},
		{"those that rest: the oldest is forgotten", Config{MaxTimewait: 1}, 2, `
			listen 7 udp
			< SIDR_REQ 0x1
			event SIDR_REQUESTED #1
			answer #1
			> A SIDR_REP 0x1 0
			< SIDR_REQ 0x2
			event SIDR_REQUESTED #2
			answer #2
			> A SIDR_REP 0x2 0
			state #1 gone
			state #2 SIDR_REP_SENT
			connect
			> A REQ #3
			< REP 0x22 #3
			event REPLIED #3 qpn=0x33
			ready #3
			> A RTU #3 0x22
			< DREQ 0x22 #3
			> A DREP #3 0x22
			event DISCONNECTED #3 DREQ
			state #2 gone
			state #3 TIMEWAIT`},
		{"those that rest of one peer: what is more is forgotten at once", Config{MaxTimewaitPeer: 1}, 2, `
			listen 7
			listen 7 udp
			< SIDR_REQ 0x1
			event SIDR_REQUESTED #1
			answer #1
			> A SIDR_REP 0x1 0
			< SIDR_REQ 0x2
			event SIDR_REQUESTED #2
			answer #2
			> A SIDR_REP 0x2 0
			state #1 SIDR_REP_SENT
			state #2 gone
			< SIDR_REQ 0x1 from=B
			event SIDR_REQUESTED #3
			answer #3
			> B SIDR_REP 0x1 0
			state #3 SIDR_REP_SENT
			< SIDR_REQ 0x1
			> A SIDR_REP 0x1 0
			verdict duplicate
			< REQ 0x22
			event REQUESTED #4 qpn=0x33
			accept #4
			> A REP #4 0x22
			< RTU 0x22 #4
			event ESTABLISHED #4
			< DREQ 0x22 #4
			> A DREP #4 0x22
			event DISCONNECTED #4 DREQ
			state #4 gone
			< DREQ 0x22 #4
			> A DREP #4 0x22
			verdict unknown_connection`},
		{"a peer that may not ask", Config{Allow: func(g qp.GID) bool { return g[15] != 'B' }}, 0, `
			listen 7
			listen 7 udp
			< REQ 0x1 from=B
			> B REJ 0x0 0x1 REQ 28
			verdict not_allowed
			< SIDR_REQ 0x1 from=B
			> B SIDR_REP 0x1 2
			verdict not_allowed
			< DREQ 0x1 0x2 from=B
			verdict not_allowed
			< REP 0x1 0x2 from=B
			verdict not_allowed
			< REQ 0x1
			event REQUESTED #1 qpn=0x33`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := runScript(t, tt.cfg, tt.script)
			if got, want := s.m.Counters().Forgotten, uint64(tt.forgotten); got != want {
				t.Errorf("forgotten early: %d, want %d", got, want)
			}
		})
	}
}

func TestCommunicationIDsAreNeitherZeroNorInUse(t *testing.T) {
	m := New(Config{})
	m.conns[our(1)] = &conn{}
	if id := m.newID(); id != our(2) {
		t.Errorf("the ID after one in use is %s, not #2", name(id))
	}
	zero := m.ids.order.Unmap(32, idTweak, 0)
	if id := m.ids.at(zero); id != 0 {
		t.Fatalf("number %#x is ID %#x, not 0", zero, uint32(id))
	}
	m.ids.n = zero - 1
	if id := m.newID(); id != m.ids.at(zero+1) {
		t.Errorf("the ID after 0 is %#x", uint32(id))
	}
}
