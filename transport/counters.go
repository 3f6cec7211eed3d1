package transport

// Counters of one queue pair. Where Linux rxe has a hardware counter for the same
// event, Each uses its name.
type Counters struct {
	SentPackets       uint64 // all packets built
	ReceivedPackets   uint64 // all packets given to Receive
	Retransmitted     uint64 // request packets sent again
	Timeouts          uint64 // local ACK timeouts
	Probes            uint64 // packets sent again because no answer came when it should have
	ImpliedNAKs       uint64 // gaps in READ responses seen by the requester
	SequenceNAKsSent  uint64
	SequenceNAKsTaken uint64
	RNRNAKsSent       uint64
	RNRNAKsTaken      uint64
	ErrorNAKsSent     uint64
	ErrorNAKsTaken    uint64
	DuplicateRequests uint64
	OutOfSequence     uint64
	EarlyKept         uint64 // request packets kept until what was missing before them came
	EarlyDropped      uint64 // those that were not: too far ahead, there already, or no room
	RetryExceeded     uint64
	RNRRetryExceeded  uint64
	ReadsReplayed     uint64
	ReplaysRefused    uint64 // duplicate READs whose responses were sent again often enough
	QKeyViolations    uint64 // datagrams with a wrong Q_Key
	OversizeDatagrams uint64 // datagrams longer than the path takes, which do not leave
	CNPsTaken         uint64 // congestion notification packets
}

// Each calls f with the name and value of every counter, in a fixed order.
func (c *Counters) Each(f func(name string, value uint64)) {
	f("sent_pkts", c.SentPackets)
	f("rcvd_pkts", c.ReceivedPackets)
	f("retransmitted_pkts", c.Retransmitted)
	f("ack_timeouts", c.Timeouts)
	f("ack_probes", c.Probes)
	f("implied_naks", c.ImpliedNAKs)
	f("sent_seq_err", c.SequenceNAKsSent)
	f("rcvd_seq_err", c.SequenceNAKsTaken)
	f("send_rnr_err", c.RNRNAKsSent)
	f("rcvd_rnr_err", c.RNRNAKsTaken)
	f("sent_error_naks", c.ErrorNAKsSent)
	f("rcvd_error_naks", c.ErrorNAKsTaken)
	f("duplicate_request", c.DuplicateRequests)
	f("out_of_seq_request", c.OutOfSequence)
	f("early_kept", c.EarlyKept)
	f("early_dropped", c.EarlyDropped)
	f("retry_exceeded_err", c.RetryExceeded)
	f("retry_rnr_exceeded_err", c.RNRRetryExceeded)
	f("replayed_reads", c.ReadsReplayed)
	f("refused_read_replays", c.ReplaysRefused)
	f("qkey_viol_cntr", c.QKeyViolations)
	f("oversize_datagrams", c.OversizeDatagrams)
	f("rp_cnp_handled", c.CNPsTaken)
}

// Add adds o to c, counter by counter.
func (c *Counters) Add(o *Counters) {
	c.SentPackets += o.SentPackets
	c.ReceivedPackets += o.ReceivedPackets
	c.Retransmitted += o.Retransmitted
	c.Timeouts += o.Timeouts
	c.Probes += o.Probes
	c.ImpliedNAKs += o.ImpliedNAKs
	c.SequenceNAKsSent += o.SequenceNAKsSent
	c.SequenceNAKsTaken += o.SequenceNAKsTaken
	c.RNRNAKsSent += o.RNRNAKsSent
	c.RNRNAKsTaken += o.RNRNAKsTaken
	c.ErrorNAKsSent += o.ErrorNAKsSent
	c.ErrorNAKsTaken += o.ErrorNAKsTaken
	c.DuplicateRequests += o.DuplicateRequests
	c.OutOfSequence += o.OutOfSequence
	c.EarlyKept += o.EarlyKept
	c.EarlyDropped += o.EarlyDropped
	c.RetryExceeded += o.RetryExceeded
	c.RNRRetryExceeded += o.RNRRetryExceeded
	c.ReadsReplayed += o.ReadsReplayed
	c.ReplaysRefused += o.ReplaysRefused
	c.QKeyViolations += o.QKeyViolations
	c.OversizeDatagrams += o.OversizeDatagrams
	c.CNPsTaken += o.CNPsTaken
}
