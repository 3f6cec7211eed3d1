package bth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/gorxe/gorxe/bth"
)

// All opcodes that RoCEv2 carries, by number, to detect missing and surplus rows of the table.
func TestOpcodesAreThoseRoCEv2Carries(t *testing.T) {
	var want []bth.Opcode
	for o := range bth.Opcode(0x15) {
		want = append(want, o)
	}
	want = append(want, 0x16, 0x17, 0x1c, 0x1d)
	for o := bth.Opcode(0x20); o <= 0x2b; o++ {
		want = append(want, o)
	}
	want = append(want, 0x64, 0x65, 0x81)
	if got := slices.Collect(bth.Opcodes()); !slices.Equal(got, want) {
		t.Errorf("Opcodes() = %x, want %x", got, want)
	}
	for o := range bth.Opcodes() {
		if o == 0x01 {
			break
		}
	}
}

func TestOpcodeInfoOfEachKind(t *testing.T) {
	tests := []struct {
		op      bth.Opcode
		name    string
		service bth.Service
		what    bth.Operation
		pos     bth.Position
		headers string
		length  int
		payload bool
	}{
		{bth.RCSendFirst, "RC_SEND_FIRST", bth.ServiceRC, bth.OpSend, bth.First, "", 12, true},
		{bth.RCSendLastImm, "RC_SEND_LAST_WITH_IMMEDIATE", bth.ServiceRC, bth.OpSend, bth.Last, "ImmDt", 16, true},
		{bth.RCSendOnlyInv, "RC_SEND_ONLY_WITH_INVALIDATE", bth.ServiceRC, bth.OpSend, bth.Only, "IETH", 16, true},
		{bth.RCWriteFirst, "RC_RDMA_WRITE_FIRST", bth.ServiceRC, bth.OpWrite, bth.First, "RETH", 28, true},
		{bth.RCWriteMiddle, "RC_RDMA_WRITE_MIDDLE", bth.ServiceRC, bth.OpWrite, bth.Middle, "", 12, true},
		{bth.RCWriteLastImm, "RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", bth.ServiceRC, bth.OpWrite, bth.Last,
			"ImmDt", 16, true},
		{bth.RCWriteOnlyImm, "RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", bth.ServiceRC, bth.OpWrite, bth.Only,
			"RETH+ImmDt", 32, true},
		{bth.RCReadRequest, "RC_RDMA_READ_REQUEST", bth.ServiceRC, bth.OpReadRequest, bth.Only, "RETH", 28, false},
		{bth.RCReadResponseFirst, "RC_RDMA_READ_RESPONSE_FIRST", bth.ServiceRC, bth.OpReadResponse, bth.First,
			"AETH", 16, true},
		{bth.RCReadResponseMiddle, "RC_RDMA_READ_RESPONSE_MIDDLE", bth.ServiceRC, bth.OpReadResponse, bth.Middle,
			"", 12, true},
		{bth.RCAck, "RC_ACKNOWLEDGE", bth.ServiceRC, bth.OpAck, bth.Only, "AETH", 16, false},
		{bth.RCAtomicAck, "RC_ATOMIC_ACKNOWLEDGE", bth.ServiceRC, bth.OpAtomicAck, bth.Only,
			"AETH+AtomicAckETH", 24, false},
		{bth.RCCmpSwap, "RC_COMPARE_SWAP", bth.ServiceRC, bth.OpCmpSwap, bth.Only, "AtomicETH", 40, false},
		{bth.RCFetchAdd, "RC_FETCH_ADD", bth.ServiceRC, bth.OpFetchAdd, bth.Only, "AtomicETH", 40, false},
		{bth.RCFlush, "RC_FLUSH", bth.ServiceRC, bth.OpFlush, bth.Only, "FETH+RETH", 32, false},
		{bth.RCAtomicWrite, "RC_ATOMIC_WRITE", bth.ServiceRC, bth.OpAtomicWrite, bth.Only, "RETH", 28, true},
		{bth.UCWriteOnly, "UC_RDMA_WRITE_ONLY", bth.ServiceUC, bth.OpWrite, bth.Only, "RETH", 28, true},
		{bth.UDSendOnly, "UD_SEND_ONLY", bth.ServiceUD, bth.OpSend, bth.Only, "DETH", 20, true},
		{bth.UDSendOnlyImm, "UD_SEND_ONLY_WITH_IMMEDIATE", bth.ServiceUD, bth.OpSend, bth.Only, "DETH+ImmDt", 24, true},
		{bth.CNP, "CNP", bth.ServiceCNP, bth.OpCNP, bth.Only, "CNP", 28, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			i := tt.op.Info()
			got := []any{i.Name, i.Service, i.Op, i.Pos, i.Headers.String(), i.HeaderLen, i.Payload, i.Valid,
				tt.op.String()}
			want := []any{tt.name, tt.service, tt.what, tt.pos, tt.headers, tt.length, tt.payload, true, tt.name}
			if !slices.Equal(got, want) {
				t.Errorf("Info(%#02x) = %v, want %v", uint8(tt.op), got, want)
			}
		})
	}
}

func TestEveryOpcodeHoldsTheRulesOfItsKind(t *testing.T) {
	names := map[string]bth.Opcode{}
	for o := range bth.Opcodes() {
		i := o.Info()
		if other, dup := names[i.Name]; dup {
			t.Errorf("%#02x and %#02x are both called %s", o, other, i.Name)
		}
		names[i.Name] = o
		if i.HeaderLen != bth.BTHLen+i.Headers.Len() || i.HeaderLen > bth.MaxHeaderLen || i.HeaderLen%4 != 0 {
			t.Errorf("%s: HeaderLen %d with headers %s", o, i.HeaderLen, i.Headers)
		}
		if i.Response() && i.Service != bth.ServiceRC {
			t.Errorf("%s: a response of service %s", o, i.Service)
		}
		if i.Request() == (i.Response() || o == bth.CNP) {
			t.Errorf("%s: Request %t, Response %t", o, i.Request(), i.Response())
		}
		if i.Headers&bth.HasAETH != 0 && !i.Response() {
			t.Errorf("%s: an AETH on a request", o)
		}
		if got := i.Headers&bth.HasImmDt != 0; got != strings.HasSuffix(i.Name, "_WITH_IMMEDIATE") {
			t.Errorf("%s: immediate data: %t", o, got)
		}
		if got := i.Headers&bth.HasIETH != 0; got != strings.HasSuffix(i.Name, "_WITH_INVALIDATE") {
			t.Errorf("%s: invalidate: %t", o, got)
		}
		if i.Headers&(bth.HasImmDt|bth.HasIETH) != 0 && !i.Ends() {
			t.Errorf("%s: immediate or invalidate before the end of the message", o)
		}
		if i.Op == bth.OpWrite && i.Starts() != (i.Headers&bth.HasRETH != 0) {
			t.Errorf("%s: a WRITE carries its RETH in the first packet alone", o)
		}
		if prefix := i.Service.String(); !strings.HasPrefix(i.Name, prefix) {
			t.Errorf("%s: service %s", o, prefix)
		}
	}
}

func TestUnknownOpcodesAreBareAndNamedByNumber(t *testing.T) {
	unknown := 0
	for n := range 256 {
		o := bth.Opcode(n)
		if o.Valid() {
			continue
		}
		unknown++
		i := o.Info()
		if i.Headers != 0 || i.HeaderLen != bth.BTHLen || i.Payload || i.Service != bth.ServiceNone ||
			i.Op != bth.OpNone ||
			i.Request() || i.Response() {
			t.Errorf("Info(%#02x) = %+v, want an empty entry", n, i)
		}
		if want := fmt.Sprintf("OPCODE_0x%02x", n); o.String() != want {
			t.Errorf("String(%#02x) = %s, want %s", n, o, want)
		}
	}
	if unknown != 256-40 {
		t.Errorf("%d unknown opcodes, want %d", unknown, 256-40)
	}
}

func TestNamesOfServiceOperationPosition(t *testing.T) {
	got := []string{
		bth.ServiceNone.String(), bth.ServiceUD.String(), bth.ServiceCNP.String(), bth.Service(99).String(),
		bth.OpNone.String(), bth.OpReadResponse.String(),
		bth.OpAtomicWrite.String(), bth.OpCNP.String(), bth.Operation(99).String(),
		bth.First.String(), bth.Middle.String(), bth.Last.String(), bth.Only.String(), bth.Position(99).String(),
	}
	want := []string{
		"none", "UD", "CNP", "unknown",
		"none", "RDMA_READ_RESPONSE", "ATOMIC_WRITE", "CNP", "unknown",
		"FIRST", "MIDDLE", "LAST", "ONLY", "unknown",
	}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}
