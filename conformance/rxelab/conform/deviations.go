package conform

// Deviation explains verdicts that are not a pass, in two sentences.
type Deviation struct {
	Cases []string
	Text  string // Markdown
}

// Deviations explain the published matrix. Functions are those of drivers/infiniband/sw/rxe in
// Linux 6.11.
var Deviations = []Deviation{
	{[]string{"header/3"}, "Linux replaces the hop limit that the program sets by that of the route when it resolves the " +
		"address of the peer, for every RDMA device. The packet is valid, so the case is unclear instead of failed."},
	{[]string{"responder/38"}, "rxe acknowledges every duplicate (`duplicate_request`), hfi1 only those that need it. " +
		"Both acknowledge the newest PSN, and the requester accepts both."},
	{[]string{"responder/41"}, "rxe continues the response as if the first packets had been sent, with MIDDLE or LAST; " +
		"other responders begin the repeated part with FIRST. Requesters accept both."},
	{[]string{"responder/54"}, "rxe has no entry for a reserved opcode in its table and drops the packet before the queue " +
		"pair sees it. The specification asks for NAK invalid request only for opcodes that the responder recognizes as " +
		"requests."},
	{[]string{"responder/72"}, "The specification drops a packet that is malformed and refuses a request with a wrong " +
		"length. A pad that is longer than the payload is both."},
	{[]string{"responder/73"}, "`copy_data` returns EINVAL instead of ENOSPC for a SEND that is longer than its receive, so " +
		"`send_data_in` reports a malformed receive: NAK remote operational error (0x63). The specification wants NAK " +
		"invalid request (0x61), so that the requester, not the responder, is blamed."},
	{[]string{"responder/89"}, "rxe executes a SEND with invalidate before it looks at the key, so it has acknowledged the " +
		"SEND when it finds that the key does not exist (class J in `rxe_receiver`). The queue pair ends with an error " +
		"in either case."},
	{[]string{"responder/92"}, "rxe 6.12 has FLUSH, but computes its ICRC over bytes that no other implementation " +
		"includes, and drops a FLUSH with the right ICRC. Linux 6.1 has no FLUSH and drops the unknown opcode."},
	{[]string{"responder/93", "responder/94", "responder/95", "responder/96"}, "Linux has ATOMIC WRITE since 6.2. " +
		"Before, the opcode is unknown and the packet is dropped."},
	{[]string{"requester/5", "requester/7"}, "`check_psn` of the completer completes the oldest request when an answer " +
		"has a PSN beyond its last one, and compares it neither with the newest PSN that was sent nor with the syndrome. " +
		"So an ACK or a NAK of a PSN that was never sent (a ghost acknowledgement) completes requests that the responder " +
		"has not executed."},
	{[]string{"requester/13"}, "After a NAK, the flag `started_retry` suppresses further repetitions until an ACK or a " +
		"timeout clears it (`rxe_completer`). If a packet of the repetition is lost too, its NAK is ignored, and the " +
		"connection waits for the timeout."},
	{[]string{"rnr/8"}, "rxe leaves the PSN as it is after an RNR NAK, so the request behind is ahead of the expected PSN and " +
		"gets a NAK of its own. Others drop silently until the message is sent again."},
	{[]string{"uc/3", "uc/5", "uc/8", "uc/10", "uc/11"}, "A new message that follows an incomplete one is meant to replace " +
		"it, as the comment in `do_class_d1e_error` says, but the function drops the packet in hand. So after a loss " +
		"within a SEND, the next message is lost as well."},
	{[]string{"uc/12"}, "With a receive that is too short, some devices complete it with an error and stop the queue pair; " +
		"rxe drops the message, but loses the next one too for the reason of uc/3. The specification permits both ends."},
	{[]string{"uc/20", "uc/21", "uc/22", "uc/25", "uc/26"}, "`do_class_d1e_error` resets the sequence of opcodes only if a " +
		"receive is in use, which a WRITE does not have. After a loss within a WRITE, every later message is dropped: " +
		"the queue pair receives nothing any more."},
	{[]string{"cm/24"}, "Linux does not check the path MTU of a REQ; the transition of the queue pair to RTR fails later if " +
		"the program uses it. The specification's reason 26 is sent by no Linux device."},
	{[]string{"cm/25"}, "The CM of Linux compares the transport service with that of the listener's queue pair and leaves " +
		"the rejection to the consumer (reason 28). Reason 9 is the one for this error, but any rejection is safe."},
	{[]string{"cm/32"}, "rxe delivers a datagram of any length to queue pair 1, and ib_mad of Linux reads the missing bytes " +
		"from its receive buffer, where those of an earlier message may be. RNICs and gorxe drop the message."},
	{[]string{"congestion/2", "congestion/3", "congestion/5", "congestion/6", "congestion/7"}, "rxe has no congestion " +
		"management: it neither sends CNPs nor reacts to them. Annex A17 makes that optional."},
}
