package ulp

// nfsCall parses the arguments of an NFS call at offset at as far as they were captured.
func (p *PDU) nfsCall(r *reader, at int) {
	switch p.version {
	case 3:
		p.Dialect = "NFSv3"
		if int(p.Code) < len(nfs3Names) {
			p.Command = nfs3Names[p.Code]
		}
		p.nfs3Length(r, at)
	case 4:
		p.Dialect = "NFSv4"
		switch p.Code {
		case 0:
			p.Command = "NULL"
		case 1:
			p.Command = "COMPOUND"
			p.compound(r, at)
		}
	default:
		p.Dialect = "NFS"
		p.arg("version", uint64(p.version))
	}
}

// nfs3Length reads the length of a READ or WRITE (RFC 1813 sections 3.3.6 and 3.3.7).
func (p *PDU) nfs3Length(r *reader, at int) {
	if p.Code != 6 && p.Code != 7 {
		return
	}
	if at = r.opaque(at); r.has(at + 12) {
		r.be(at, 8, "offset")
		p.length(r.be(at+8, 4, "count"))
	}
}

// opaque skips variable-length opaque data and returns the offset after it, or one after the
// captured bytes.
func (r *reader) opaque(at int) int {
	if !r.has(at + 4) {
		return len(r.b) + 1
	}
	n := number(r.b[at : at+4])
	if n > uint64(len(r.b)) {
		return len(r.b) + 1
	}
	return at + 4 + (int(n)+3)&^3
}

// maxOps limits the operations of a COMPOUND that are read.
const maxOps = 32

// NFSv4 operations that compound skips (RFC 7531, RFC 5662).
const (
	op4Access    = 3
	op4Commit    = 5
	op4GetAttr   = 9
	op4GetFH     = 10
	op4Lookup    = 15
	op4PutFH     = 22
	op4PutPubFH  = 23
	op4PutRootFH = 24
	op4Read      = 25
	op4RestoreFH = 31
	op4SaveFH    = 32
	op4Write     = 38
	op4Sequence  = 53
	op4ReadPlus  = 68
)

// compound names a COMPOUND after its first operation that does more than select a session or a
// file handle, as far as the operations before it can be skipped.
func (p *PDU) compound(r *reader, at int) {
	at = r.opaque(at) // tag
	if !r.has(at + 8) {
		return
	}
	minor := r.be(at, 4, "minorversion")
	if minor < uint64(len(nfs4Dialects)) {
		p.Dialect = nfs4Dialects[minor]
	}
	n := r.be(at+4, 4, "operations")
	at += 8
	fallback := ""
	for i := uint64(0); i < min(n, maxOps) && r.has(at+4); i++ {
		op := r.be(at, 4, "argop")
		name := ""
		if op < uint64(len(nfs4Names)) {
			name = nfs4Names[op]
		}
		r.means(name)
		at += 4
		switch op {
		case op4Sequence:
			at += 32 // sessionid, sequenceid, slotid, highest_slotid, cachethis (RFC 5661 section 18.46)
		case op4PutFH:
			at = r.opaque(at)
		case op4PutRootFH, op4PutPubFH, op4SaveFH, op4RestoreFH:
		default:
			if name == "" {
				return
			}
			p.Command = name
			p.nfs4Length(r, op, at)
			return
		}
		fallback = name
	}
	if fallback != "" && n > 0 {
		p.Command = fallback
	}
}

// nfs4Length reads the length of a READ or WRITE (RFC 7530 sections 16.23 and 16.36), whose
// arguments are at offset at.
func (p *PDU) nfs4Length(r *reader, op uint64, at int) {
	at += 16 // stateid
	switch {
	case (op == op4Read || op == op4ReadPlus) && r.has(at+12):
		r.be(at, 8, "offset")
		p.length(r.be(at+8, 4, "count"))
	case op == op4Write && r.has(at+16):
		r.be(at, 8, "offset")
		r.be(at+8, 4, "stable")
		p.length(r.be(at+12, 4, "data length"))
	}
}

// answersCall names the status of the reply p to the call c. All procedures of NFSv3 and NFSv4
// except NULL return a status first.
func (p *PDU) answersCall(c *PDU) {
	p.program, p.version = c.program, c.version
	if !p.hasResult || p.Status.Failed || c.program != nfsProgram || c.version != 3 && c.version != 4 ||
		c.Command == "NULL" {
		return
	}
	p.Status = Status{Known: true, Failed: p.result != 0, Code: p.result, Text: nfsStatus[p.result]}
}

var nfs4Dialects = [...]string{"NFSv4.0", "NFSv4.1", "NFSv4.2"}

// nfs3Names are the procedures of RFC 1813 section 3.3.
var nfs3Names = [...]string{
	"NULL", "GETATTR", "SETATTR", "LOOKUP", "ACCESS", "READLINK", "READ", "WRITE", "CREATE", "MKDIR", "SYMLINK",
	"MKNOD", "REMOVE", "RMDIR", "RENAME", "LINK", "READDIR", "READDIRPLUS", "FSSTAT", "FSINFO", "PATHCONF", "COMMIT",
}

// nfs4Names are the operations of RFC 7531, RFC 5662 and RFC 7863.
var nfs4Names = [...]string{
	op4Access: "ACCESS", 4: "CLOSE", op4Commit: "COMMIT", 6: "CREATE", 7: "DELEGPURGE", 8: "DELEGRETURN",
	op4GetAttr: "GETATTR", op4GetFH: "GETFH", 11: "LINK", 12: "LOCK", 13: "LOCKT", 14: "LOCKU",
	op4Lookup: "LOOKUP", 16: "LOOKUPP", 17: "NVERIFY", 18: "OPEN", 19: "OPENATTR", 20: "OPEN_CONFIRM",
	21: "OPEN_DOWNGRADE", op4PutFH: "PUTFH", op4PutPubFH: "PUTPUBFH", op4PutRootFH: "PUTROOTFH",
	op4Read: "READ", 26: "READDIR", 27: "READLINK", 28: "REMOVE", 29: "RENAME", 30: "RENEW",
	op4RestoreFH: "RESTOREFH", op4SaveFH: "SAVEFH", 33: "SECINFO", 34: "SETATTR", 35: "SETCLIENTID",
	36: "SETCLIENTID_CONFIRM", 37: "VERIFY", op4Write: "WRITE", 39: "RELEASE_LOCKOWNER",
	40: "BACKCHANNEL_CTL", 41: "BIND_CONN_TO_SESSION", 42: "EXCHANGE_ID", 43: "CREATE_SESSION",
	44: "DESTROY_SESSION", 45: "FREE_STATEID", 46: "GET_DIR_DELEGATION", 47: "GETDEVICEINFO",
	48: "GETDEVICELIST", 49: "LAYOUTCOMMIT", 50: "LAYOUTGET", 51: "LAYOUTRETURN", 52: "SECINFO_NO_NAME",
	op4Sequence: "SEQUENCE", 54: "SET_SSV", 55: "TEST_STATEID", 56: "WANT_DELEGATION", 57: "DESTROY_CLIENTID",
	58: "RECLAIM_COMPLETE", 59: "ALLOCATE", 60: "COPY", 61: "COPY_NOTIFY", 62: "DEALLOCATE", 63: "IO_ADVISE",
	64: "LAYOUTERROR", 65: "LAYOUTSTATS", 66: "OFFLOAD_CANCEL", 67: "OFFLOAD_STATUS", op4ReadPlus: "READ_PLUS",
	69: "SEEK", 70: "WRITE_SAME", 71: "CLONE",
}

// nfsStatus are nfsstat3 (RFC 1813 section 2.6) and nfsstat4 (RFC 7531, RFC 5662), which have the
// same values for the same errors.
var nfsStatus = map[uint32]string{
	0: "OK", 1: "PERM", 2: "NOENT", 5: "IO", 6: "NXIO", 13: "ACCES", 17: "EXIST", 18: "XDEV", 19: "NODEV",
	20: "NOTDIR", 21: "ISDIR", 22: "INVAL", 27: "FBIG", 28: "NOSPC", 30: "ROFS", 31: "MLINK", 63: "NAMETOOLONG",
	66: "NOTEMPTY", 69: "DQUOT", 70: "STALE", 71: "REMOTE", 10001: "BADHANDLE", 10003: "BAD_COOKIE",
	10004: "NOTSUPP", 10005: "TOOSMALL", 10006: "SERVERFAULT", 10007: "BADTYPE", 10008: "DELAY", 10009: "SAME",
	10010: "DENIED", 10011: "EXPIRED", 10012: "LOCKED", 10013: "GRACE", 10014: "FHEXPIRED", 10016: "WRONGSEC",
	10018: "RESOURCE", 10020: "NOFILEHANDLE", 10021: "MINOR_VERS_MISMATCH", 10022: "STALE_CLIENTID",
	10023: "STALE_STATEID", 10024: "OLD_STATEID", 10025: "BAD_STATEID", 10026: "BAD_SEQID", 10044: "OP_ILLEGAL",
	10052: "BADSESSION", 10053: "BADSLOT", 10063: "SEQ_MISORDERED", 10087: "DELEG_REVOKED",
}
