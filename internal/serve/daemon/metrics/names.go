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
	familyOf("cm_rx_msgs_", "cm_received_messages", "CM messages received, by type.", "message"),
	familyOf("cm_rx_duplicates_", "cm_duplicate_messages", "Duplicate CM messages received, by type.", "message"),
	familyOf("cm_tx_msgs_", "cm_sent_messages", "CM messages sent, including retransmissions, by type.", "message"),
	familyOf("cm_tx_retries_", "cm_resent_messages", "CM messages retransmitted, by type.", "message"),
	familyOf("cm_verdict_", "cm_verdicts",
		"Received CM messages, by what the connection manager did with them.", "verdict"),
	familyOf("region_", "region_requests",
		"Requests for exported regions, by result; lost: the client disappeared without disconnecting.", "result"),
	familyOf("rping_", "rping_clients",
		"rping clients that ended or were refused, by result.", "result"),
	familyOf("cm_malformed_", "cm_malformed_messages",
		"CM messages that are malformed, and requests whose IP header contradicts the packet, by reason.", "reason"),
}

// partFamilies are the counters of the built-in servers and of the trace and log files. They belong
// to no device, because rejected clients have none.
var partFamilies = []family{
	partFamily("respond_sessions_", "responder_sessions",
		"Perftest and pingpong clients that the built-in server accepted, by tool.", "tool"),
	partFamily("respond_completed_", "responder_completed_sessions",
		"Perftest and pingpong clients that completed, by tool.", "tool"),
	partFamily("respond_ended_", "responder_ended",
		"Perftest and pingpong clients that the built-in server refused or that did not complete, by reason.",
		"reason"),
	partFamily("respond_checked_messages", "responder_checked_messages",
		"Messages of perftest clients that matched the configured payload.", ""),
	partFamily("trace_errors", "trace_errors",
		"Errors of the trace file; the first one ends the trace. Absent without a trace file.", ""),
	partFamily("trace_packets", "trace_packets", "Packets written to the trace file.", ""),
	partFamily("trace_missing_packets", "trace_missing_packets",
		"Packets not written to the trace file: they arrived too fast, or after an error of the file.", ""),
	partFamily("log_lines_suppressed", "log_lines_suppressed",
		"Log lines about peers that were suppressed because of the rate limit per peer or for all peers.", ""),
	partFamily("respond_checked_bytes", "responder_checked_bytes",
		"Bytes that perftest clients sent or wrote and that matched the configured payload.", ""),
}

// partFamily returns a family of counters, or without a label a single counter.
func partFamily(prefix, name, help, label string) family {
	var labels []string
	if label != "" {
		labels = []string{label}
	}
	return family{prefix, label, prometheus.NewDesc("gorxe_"+name+"_total", help, labels, nil)}
}

// partCounter sends a counter of [partFamilies]. Counters of no family are ignored.
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
	"rx_packets": {"received_packets", "Packets received, including dropped ones."},
	"rx_bytes":   {"received_bytes", "Bytes of UDP payload received."},
	"tx_packets": {"sent_packets", "Packets sent."},
	"tx_bytes":   {"sent_bytes", "Bytes of UDP payload sent."},
	"tx_refused": {"refused_packets", "Packets that the host refused to send."},
	"tx_port_probes": {"sent_port_probes",
		"Datagrams sent to find out whether a host that does not answer a request has a listener."},
	"timeouts_put_off": {"timeouts_put_off", "Timeouts postponed because received packets were still unprocessed."},
	"np_ecn_marked_roce_packets": {"ecn_marked_packets_received",
		"Packets received with an ECN congestion mark (np_ecn_marked_roce_packets)."},
	"sent_pkts":          {"transport_built_packets", "Packets that the transport built (sent_pkts)."},
	"rcvd_pkts":          {"transport_taken_packets", "Packets passed to the transport (rcvd_pkts)."},
	"retransmitted_pkts": {"retransmitted_packets", "Request packets retransmitted."},
	"ack_timeouts":       {"ack_timeouts", "Local ACK timeouts."},
	"ack_probes":         {"ack_probes", "Packets retransmitted as probes before the timeout."},
	"implied_naks":       {"implied_naks", "Gaps in READ responses."},
	"sent_seq_err":       {"sequence_naks_sent", "PSN sequence error NAKs sent (sent_seq_err)."},
	"rcvd_seq_err":       {"sequence_naks_received", "PSN sequence error NAKs received (rcvd_seq_err)."},
	"send_rnr_err":       {"rnr_naks_sent", "RNR NAKs sent (send_rnr_err)."},
	"rcvd_rnr_err":       {"rnr_naks_received", "RNR NAKs received (rcvd_rnr_err)."},
	"sent_error_naks":    {"error_naks_sent", "Fatal NAKs sent."},
	"rcvd_error_naks":    {"error_naks_received", "Fatal NAKs received."},
	"duplicate_request":  {"duplicate_requests", "Request packets received again (duplicate_request)."},
	"out_of_seq_request": {"out_of_sequence_requests",
		"Request packets received before an earlier one (out_of_seq_request)."},
	"early_kept":         {"early_requests_kept", "Out-of-order request packets kept until the missing ones arrive."},
	"early_dropped":      {"early_requests_dropped", "Out-of-order request packets dropped."},
	"retry_exceeded_err": {"retries_exceeded", "Queue pairs that exhausted their retries (retry_exceeded_err)."},
	"retry_rnr_exceeded_err": {"rnr_retries_exceeded",
		"Queue pairs that exhausted their RNR retries (retry_rnr_exceeded_err)."},
	"replayed_reads": {"replayed_reads", "READs and atomics whose responses were retransmitted."},
	"refused_read_replays": {"refused_read_replays",
		"Duplicate READs not answered because their responses had been retransmitted 16 times."},
	"qkey_viol_cntr":     {"qkey_violations", "Datagrams with a wrong Q_Key (qkey_viol_cntr)."},
	"oversize_datagrams": {"oversize_datagrams", "Datagrams longer than their path MTU."},
	"rp_cnp_handled":     {"rp_cnp_handled", "Congestion notification packets that requesters processed."},
	"cm_forgotten": {"cm_forgotten_connections",
		"Ended connections forgotten early because of the limits on remembered ones, in total and per address."},
	"cm_displaced": {"cm_displaced_connections", "Half-open connections displaced at a limit."},
	"cm_ignored": {"cm_ignored_requests",
		"Connection requests left unanswered because of the limit on rejections per second."},
	"cm_unsent": {"cm_unsent_messages", "CM messages that could not be sent."},
	"cm_foreign": {"cm_foreign_datagrams",
		"Datagrams to the connection manager that are not from a connection manager."},
	"link_tx_calls": {"link_send_calls", "Send calls into the host."},
	"link_tx_no_neighbour": {"link_no_neighbour_packets",
		"Packets dropped because their next hop does not answer requests for its link-layer address."},
	"link_tx_queue_full": {"link_send_queue_full_packets",
		"Packets dropped because the send queue of the host was full for a second."},
	"link_rx_calls": {"link_receive_calls", "Receive calls into the host that returned packets."},
	"link_rx_queue_full": {"link_receive_queue_full_packets",
		"Packets that the host dropped because the receive queue was full."},
	"link_rx_cut_short": {"link_cut_short_packets", "Packets received truncated."},
}

// descOf returns the description of a counter. An unknown counter keeps its own name.
func descOf(name string) *prometheus.Desc {
	c, ok := known[name]
	if !ok {
		c = counted{name, "Counter " + name + " of the device."}
	}
	return prometheus.NewDesc("gorxe_"+c.name+"_total", c.help, []string{"device"}, nil)
}
