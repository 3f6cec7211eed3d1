// Package ulp parses the headers of upper-layer protocols in the payload of SENDs: NVMe over
// Fabrics, iSER, SMB Direct, and NFS over RDMA.
//
// [PDU.Decode] parses the beginning of a SEND, [PDU.DecodePrivate] the private data of a message of
// the connection manager. Both need the protocol of the connection, which comes from the port in
// its REQ ([ByPort]) or, if the REQ was not captured, from a SEND that only this protocol has
// ([Detect]). [AppendFields] lists the header fields of a SEND.
//
// Nothing of a payload except the headers is kept: a PDU has numbers, and texts from tables of this
// package. Names, paths and data are skipped. All functions accept any bytes.
//
// Sources:
//
//	NVMe over Fabrics  NVM Express over Fabrics 1.1, sections 2 (capsules), 3 (commands) and
//	                   7.3 (RDMA transport); NVM Express base specification 1.4, sections 4 to 6
//	iSER               RFC 7145 section 9 (headers), RFC 7143 section 11 (iSCSI PDUs); for the
//	                   private data, annex A12 of the IBA specification
//	SMB Direct         MS-SMBD section 2.2, MS-SMB2 sections 2.2.1, 2.2.19 and 2.2.21
//	NFS over RDMA      RFC 8166 (RPC-over-RDMA version 1), RFC 8797 (private data), RFC 5531 (RPC),
//	                   RFC 1813 (NFSv3), RFC 7531, RFC 5662 and RFC 7863 (NFSv4), RFC 8267 (which
//	                   arguments and results chunks carry)
package ulp
