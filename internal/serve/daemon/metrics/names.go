package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gorxe/gorxe/verbs"
)

// A family is a group of device counters that form one metric: the name after the prefix is a
// label.
type family struct {
	prefix, label string
	desc          *prometheus.Desc
}

func familyOf(prefix, name, help, label string) family {
	return family{prefix, label, prometheus.NewDesc("gorxe_"+name+"_total", help, []string{"device", label}, nil)}
}

var families = []family{
	familyOf("drop_", "dropped_packets", "Packets dropped before the transport saw them, by reason.", "reason"),
	familyOf("verdict_", "verdicts", "Packets by transport verdict.", "verdict"),
	familyOf("cm_rx_msgs_", "cm_received_messages", "Messages of the connection manager received.", "message"),
	familyOf("cm_rx_duplicates_", "cm_duplicate_messages", "Duplicate CM messages received.", "message"),
	familyOf("cm_tx_msgs_", "cm_sent_messages", "CM messages sent, including retransmissions.", "message"),
	familyOf("cm_tx_retries_", "cm_resent_messages", "CM messages retransmitted.", "message"),
	familyOf("cm_verdict_", "cm_verdicts", "What the connection manager made of the messages it received.", "verdict"),
	familyOf("region_", "region_requests",
		"Requests for exported regions by result; lost: clients that disappeared without disconnecting.", "result"),
	familyOf("rping_", "rping_clients",
		"Clients of rping that ended or were refused, by what became of them.", "result"),
	familyOf("cm_malformed_", "cm_malformed_messages",
		"Messages that the connection manager could not read, and requests with an IP header that it does not believe, by reason.", "reason"),
}

// partFamilies are the counters of the responders. They belong to no device, because rejected
// clients have none.
var partFamilies = []family{
	partFamily("respond_sessions_", "responder_sessions",
		"Clients of perftest and of the pingpongs that were answered, by tool.", "tool"),
	partFamily("respond_completed_", "responder_completed_sessions",
		"Clients of perftest and of the pingpongs that came to their end, by tool.", "tool"),
	partFamily("respond_ended_", "responder_ended",
		"Clients of perftest and of the pingpongs that were refused or did not come to their end, by reason.",
		"reason"),
	partFamily("respond_checked_messages", "responder_checked_messages",
		"Messages of perftest clients that were the payload.", ""),
	partFamily("trace_errors", "trace_errors",
		"Errors of the file that packets are kept in, the first of which ends it; shown where there is one.", ""),
	partFamily("trace_packets", "trace_packets", "Packets that are in the file of the trace.", ""),
	partFamily("trace_missing_packets", "trace_missing_packets",
		"Packets that are not in the file of the trace: they came too fast, or after an error of the file.", ""),
	partFamily("log_lines_suppressed", "log_lines_suppressed",
		"Lines about peers that were not logged, because a peer or all together caused too many.", ""),
	partFamily("respond_checked_bytes", "responder_checked_bytes",
		"Bytes that perftest clients sent or wrote and that were the payload.", ""),
}

// partFamily returns a family of counters, or without a label a single counter.
func partFamily(prefix, name, help, label string) family {
	var labels []string
	if label != "" {
		labels = []string{label}
	}
	return family{prefix, label, prometheus.NewDesc("gorxe_"+name+"_total", help, labels, nil)}
}

// partCounter sends a counter of a responder. Counters of no family are ignored.
func partCounter(name string, value uint64, ch chan<- prometheus.Metric) {
	for _, f := range partFamilies {
		if rest, ok := strings.CutPrefix(name, f.prefix); ok {
			var labels []string
			if f.label != "" {
				labels = []string{rest}
			}
			ch <- prometheus.MustNewConstMetric(f.desc, prometheus.CounterValue, float64(value), labels...)
		}
	}
}

// counters sends the counters of a device.
func (c *Collector) counters(d *verbs.Device, ch chan<- prometheus.Metric) {
	of := c.Counters
	if of == nil {
		of = (*verbs.Device).Counters
	}
	for name, value := range of(d) {
		desc, labels := descOf(name), []string{d.Name()}
		if f, rest := inFamily(name); f != nil {
			desc, labels = f.desc, append(labels, rest)
		}
		ch <- prometheus.MustNewConstMetric(desc, prometheus.CounterValue, float64(value), labels...)
	}
}

// inFamily returns the family of a counter, nil if it has none, and its label.
func inFamily(name string) (*family, string) {
	for i := range families {
		if rest, ok := strings.CutPrefix(name, families[i].prefix); ok {
			return &families[i], rest
		}
	}
	return nil, ""
}

// A counted is a device counter with its own metric.
type counted struct{ name, help string }

// known are the counters whose Prometheus name or meaning differs from their own name. The name
// excludes gorxe_ and _total.
var known = map[string]counted{
	"rx_packets": {"received_packets", "Packets received, those that were dropped included."},
	"rx_bytes":   {"received_bytes", "Bytes of UDP payload received."},
	"tx_packets": {"sent_packets", "Packets sent."},
	"tx_bytes":   {"sent_bytes", "Bytes of UDP payload sent."},
	"tx_refused": {"refused_packets", "Packets that the host refused to send."},
	"tx_port_probes": {"sent_port_probes",
		"Datagrams sent to find out whether anything listens at a host that does not answer a request."},
	"timeouts_put_off": {"timeouts_put_off", "Timeouts that waited because the receiver was behind."},
	"np_ecn_marked_roce_packets": {"ecn_marked_packets_received",
		"Packets received that a switch had marked for congestion (np_ecn_marked_roce_packets)."},
	"sent_pkts":          {"transport_built_packets", "Packets that the transport built (sent_pkts)."},
	"rcvd_pkts":          {"transport_taken_packets", "Packets that the transport was given (rcvd_pkts)."},
	"retransmitted_pkts": {"retransmitted_packets", "Request packets sent again."},
	"ack_timeouts":       {"ack_timeouts", "Local ACK timeouts."},
	"ack_probes":         {"ack_probes", "Packets retransmitted as probes before the timeout."},
	"implied_naks":       {"implied_naks", "Gaps in READ responses."},
	"sent_seq_err":       {"sequence_naks_sent", "PSN sequence error NAKs sent (sent_seq_err)."},
	"rcvd_seq_err":       {"sequence_naks_received", "PSN sequence error NAKs received (rcvd_seq_err)."},
	"send_rnr_err":       {"rnr_naks_sent", "RNR NAKs sent (send_rnr_err)."},
	"rcvd_rnr_err":       {"rnr_naks_received", "RNR NAKs received (rcvd_rnr_err)."},
	"sent_error_naks":    {"error_naks_sent", "Fatal NAKs sent."},
	"rcvd_error_naks":    {"error_naks_received", "NAKs received that end a connection."},
	"duplicate_request":  {"duplicate_requests", "Request packets received again (duplicate_request)."},
	"out_of_seq_request": {"out_of_sequence_requests",
		"Request packets received before an earlier one (out_of_seq_request)."},
	"early_kept":         {"early_requests_kept", "Request packets kept until an earlier one came."},
	"early_dropped":      {"early_requests_dropped", "Out-of-order request packets dropped."},
	"retry_exceeded_err": {"retries_exceeded", "Queue pairs that exhausted their retries (retry_exceeded_err)."},
	"retry_rnr_exceeded_err": {"rnr_retries_exceeded",
		"Queue pairs that gave up on a peer without receives (retry_rnr_exceeded_err)."},
	"replayed_reads": {"replayed_reads", "READs and atomics answered again."},
	"refused_read_replays": {"refused_read_replays",
		"Duplicate READs not answered because their responses had been sent again 16 times."},
	"qkey_viol_cntr":     {"qkey_violations", "Datagrams with a wrong Q_Key (qkey_viol_cntr)."},
	"oversize_datagrams": {"oversize_datagrams", "Datagrams that were longer than their path takes."},
	"rp_cnp_handled":     {"rp_cnp_handled", "Congestion notification packets taken by requesters."},
	"cm_forgotten": {"cm_forgotten_connections",
		"Ended connections that were forgotten early: there are bounds to how many are remembered, in all and of one address."},
	"cm_displaced": {"cm_displaced_connections", "Half-open connections displaced at a limit."},
	"cm_ignored": {"cm_ignored_requests",
		"Requests for connections that the program left without an answer: it refuses only so many a second."},
	"cm_unsent":     {"cm_unsent_messages", "Messages of the connection manager that could not be sent."},
	"cm_foreign":    {"cm_foreign_datagrams", "Datagrams to the connection manager that did not come from one."},
	"link_tx_calls": {"link_send_calls", "Calls into the host to send."},
	"link_tx_no_neighbour": {"link_no_neighbour_packets",
		"Packets dropped because the host does not know the link-layer address of their next hop, which does not answer."},
	"link_tx_queue_full": {"link_send_queue_full_packets",
		"Packets dropped because the host had no room for them for a second."},
	"link_rx_calls": {"link_receive_calls", "Calls into the host to receive that brought something."},
	"link_rx_queue_full": {"link_receive_queue_full_packets",
		"Packets that the host dropped because the receive queue was full."},
	"link_rx_cut_short": {"link_cut_short_packets", "Packets that came cut short."},
}

// descOf returns the description of a counter. An unknown counter keeps its own name.
func descOf(name string) *prometheus.Desc {
	c, ok := known[name]
	if !ok {
		c = counted{name, "Counter " + name + " of the device."}
	}
	return prometheus.NewDesc("gorxe_"+c.name+"_total", c.help, []string{"device"}, nil)
}
