package bth

import "fmt"

// row is one opcode of the table of IBA 9.2.1.
type row struct {
	op        Opcode
	name      string
	service   Service
	operation Operation
	pos       Position
	headers   Headers
	payload   bool
}

// rows is the opcode table of IBA 9.2.1, with FLUSH and ATOMIC WRITE of annex A19 and the CNP
// of A17.9.3.
var rows = [...]row{
	{RCSendFirst, "RC_SEND_FIRST", ServiceRC, OpSend, First, 0, true},
	{RCSendMiddle, "RC_SEND_MIDDLE", ServiceRC, OpSend, Middle, 0, true},
	{RCSendLast, "RC_SEND_LAST", ServiceRC, OpSend, Last, 0, true},
	{RCSendLastImm, "RC_SEND_LAST_WITH_IMMEDIATE", ServiceRC, OpSend, Last, HasImmDt, true},
	{RCSendOnly, "RC_SEND_ONLY", ServiceRC, OpSend, Only, 0, true},
	{RCSendOnlyImm, "RC_SEND_ONLY_WITH_IMMEDIATE", ServiceRC, OpSend, Only, HasImmDt, true},
	{RCWriteFirst, "RC_RDMA_WRITE_FIRST", ServiceRC, OpWrite, First, HasRETH, true},
	{RCWriteMiddle, "RC_RDMA_WRITE_MIDDLE", ServiceRC, OpWrite, Middle, 0, true},
	{RCWriteLast, "RC_RDMA_WRITE_LAST", ServiceRC, OpWrite, Last, 0, true},
	{RCWriteLastImm, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", ServiceRC, OpWrite, Last, HasImmDt, true},
	{RCWriteOnly, "RC_RDMA_WRITE_ONLY", ServiceRC, OpWrite, Only, HasRETH, true},
	{RCWriteOnlyImm, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", ServiceRC, OpWrite, Only, HasRETH | HasImmDt, true},
	{RCReadRequest, "RC_RDMA_READ_REQUEST", ServiceRC, OpReadRequest, Only, HasRETH, false},
	{RCReadResponseFirst, "RC_RDMA_READ_RESPONSE_FIRST", ServiceRC, OpReadResponse, First, HasAETH, true},
	{RCReadResponseMiddle, "RC_RDMA_READ_RESPONSE_MIDDLE", ServiceRC, OpReadResponse, Middle, 0, true},
	{RCReadResponseLast, "RC_RDMA_READ_RESPONSE_LAST", ServiceRC, OpReadResponse, Last, HasAETH, true},
	{RCReadResponseOnly, "RC_RDMA_READ_RESPONSE_ONLY", ServiceRC, OpReadResponse, Only, HasAETH, true},
	{RCAck, "RC_ACKNOWLEDGE", ServiceRC, OpAck, Only, HasAETH, false},
	{RCAtomicAck, "RC_ATOMIC_ACKNOWLEDGE", ServiceRC, OpAtomicAck, Only, HasAETH | HasAtomicAckETH, false},
	{RCCmpSwap, "RC_COMPARE_SWAP", ServiceRC, OpCmpSwap, Only, HasAtomicETH, false},
	{RCFetchAdd, "RC_FETCH_ADD", ServiceRC, OpFetchAdd, Only, HasAtomicETH, false},
	{RCSendLastInv, "RC_SEND_LAST_WITH_INVALIDATE", ServiceRC, OpSend, Last, HasIETH, true},
	{RCSendOnlyInv, "RC_SEND_ONLY_WITH_INVALIDATE", ServiceRC, OpSend, Only, HasIETH, true},
	{RCFlush, "RC_FLUSH", ServiceRC, OpFlush, Only, HasFETH | HasRETH, false},
	{RCAtomicWrite, "RC_ATOMIC_WRITE", ServiceRC, OpAtomicWrite, Only, HasRETH, true},

	{UCSendFirst, "UC_SEND_FIRST", ServiceUC, OpSend, First, 0, true},
	{UCSendMiddle, "UC_SEND_MIDDLE", ServiceUC, OpSend, Middle, 0, true},
	{UCSendLast, "UC_SEND_LAST", ServiceUC, OpSend, Last, 0, true},
	{UCSendLastImm, "UC_SEND_LAST_WITH_IMMEDIATE", ServiceUC, OpSend, Last, HasImmDt, true},
	{UCSendOnly, "UC_SEND_ONLY", ServiceUC, OpSend, Only, 0, true},
	{UCSendOnlyImm, "UC_SEND_ONLY_WITH_IMMEDIATE", ServiceUC, OpSend, Only, HasImmDt, true},
	{UCWriteFirst, "UC_RDMA_WRITE_FIRST", ServiceUC, OpWrite, First, HasRETH, true},
	{UCWriteMiddle, "UC_RDMA_WRITE_MIDDLE", ServiceUC, OpWrite, Middle, 0, true},
	{UCWriteLast, "UC_RDMA_WRITE_LAST", ServiceUC, OpWrite, Last, 0, true},
	{UCWriteLastImm, "UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", ServiceUC, OpWrite, Last, HasImmDt, true},
	{UCWriteOnly, "UC_RDMA_WRITE_ONLY", ServiceUC, OpWrite, Only, HasRETH, true},
	{UCWriteOnlyImm, "UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", ServiceUC, OpWrite, Only, HasRETH | HasImmDt, true},

	{UDSendOnly, "UD_SEND_ONLY", ServiceUD, OpSend, Only, HasDETH, true},
	{UDSendOnlyImm, "UD_SEND_ONLY_WITH_IMMEDIATE", ServiceUD, OpSend, Only, HasDETH | HasImmDt, true},

	{CNP, "CNP", ServiceCNP, OpCNP, Only, HasCNP, false},
}

// opcodes maps every opcode number to its info; numbers not in rows have an invalid entry.
var opcodes = indexRows()

func indexRows() *[256]OpcodeInfo {
	t := new([256]OpcodeInfo)
	for i := range t {
		t[i] = OpcodeInfo{Name: fmt.Sprintf("OPCODE_0x%02x", i), Pos: Only, HeaderLen: BTHLen}
	}
	for _, r := range rows {
		t[r.op] = OpcodeInfo{
			Name: r.name, Service: r.service, Op: r.operation, Pos: r.pos,
			Headers: r.headers, HeaderLen: BTHLen + r.headers.Len(), Payload: r.payload, Valid: true,
		}
	}
	return t
}
