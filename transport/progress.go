package transport

import "github.com/gorxe/gorxe/bth"

// Progress tells how far a queue pair has come.
type Progress struct {
	SendPSN bth.PSN // that the next packet will have which was never sent
	AckPSN  bth.PSN // oldest that was sent and is not acknowledged; SendPSN where there is none
	RecvPSN bth.PSN // expected from the peer

	Window  uint32 // packets that may be unacknowledged at the moment; 0 where nothing is acknowledged
	Reads   int    // READ and atomic requests that wait for their responses
	Retries uint8  // what is left of retry_cnt
	RNRLeft uint8  // what is left of rnr_retry
	RNRWait bool   // the peer asked for patience: it has no receive posted
	Early   int    // request packets that are held until an earlier one comes
}

// Progress returns how far the connection has come.
func (c *RC) Progress() Progress {
	r := &c.req
	p := Progress{
		SendPSN: c.qp.Attr.SQPSN, AckPSN: c.qp.Attr.SQPSN, RecvPSN: c.qp.Attr.RQPSN,
		Window: r.window, Reads: r.reads, Retries: r.retries, RNRLeft: r.rnrTries, RNRWait: r.waiting,
		Early: c.rsp.early.kept,
	}
	if r.window > 0 { // it was in RTS
		p.SendPSN, p.AckPSN = r.next, r.una
	}
	if c.rsp.started {
		p.RecvPSN = c.rsp.expected
	}
	return p
}

// Progress returns how far the connection has come.
func (c *UC) Progress() Progress {
	p := c.unreliable.Progress()
	p.RecvPSN = c.expected
	return p
}

// Progress returns how many datagrams have left; what is received is not numbered.
func (c *unreliable) Progress() Progress { return Progress{SendPSN: c.next, AckPSN: c.next} }
