package transport

import (
	"bytes"
	"errors"
	"testing"

	"github.com/gorxe/gorxe/mr"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
)

// Transmit with room for less than there is to send.
func TestTransmitKeepsToItsLimit(t *testing.T) {
	runScenarios(t, []scenario{
		{"what did not fit is to be sent right away", nil, `
			post send id=1 len=600
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			> SEND_LAST psn=102 len=88 ack
			<+ ACKNOWLEDGE psn=100 syn=seq rxe
			send 2 more
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			send 2 done
			> SEND_LAST psn=102 len=88 ack`},
		{"the answer to a long READ leaves a quarter of the room to own requests", nil, `
			post send id=1 len=600
			> SEND_FIRST psn=100 len=256
			> SEND_MIDDLE psn=101 len=256
			> SEND_LAST psn=102 len=88 ack
			<+ ACKNOWLEDGE psn=100 syn=seq rxe
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=2048 rkey=rw ack
			send 4 more
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> SEND_FIRST psn=100 len=256
			send 1 more
			> RDMA_READ_RESPONSE_MIDDLE psn=103 len=256
			send 64 done
			> RDMA_READ_RESPONSE_MIDDLE psn=104 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=105 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=106 len=256
			> RDMA_READ_RESPONSE_LAST psn=107 len=256 syn=ack msn=1
			> SEND_MIDDLE psn=101 len=256
			> SEND_LAST psn=102 len=88 ack`},
		{"all of the room is for the answer when there is nothing else to send", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			send 4 done
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
		{"or while the peer has asked to wait", nil, `
			post send id=1 len=4
			> SEND_ONLY psn=100 len=4 ack
			< ACKNOWLEDGE psn=100 syn=rnr12
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1024 rkey=rw ack
			send 4 done
			> RDMA_READ_RESPONSE_FIRST psn=100 len=256 syn=ack msn=1
			> RDMA_READ_RESPONSE_MIDDLE psn=101 len=256
			> RDMA_READ_RESPONSE_MIDDLE psn=102 len=256
			> RDMA_READ_RESPONSE_LAST psn=103 len=256 syn=ack msn=1`},
	})
}

func TestAFullBatchLeavesTheRestForTheNext(t *testing.T) {
	for _, typ := range []qp.Type{qp.RC, qp.UC, qp.UD} {
		t.Run(typ.String(), func(t *testing.T) {
			s := newScriptOf(t, typ, nil)
			s.post([]string{"send", "id=1", "len=4"})
			s.post([]string{"send", "id=2", "len=4"})
			batch := packet.NewBatch(1)
			for i, want := range []bool{true, false} {
				if more := s.rc.Transmit(s.now, nil, batch, 64); more != want || batch.Len() != 1 {
					t.Errorf("batch %d has %d packets, more to send: %v", i, batch.Len(), more)
				}
				batch.Reset()
			}
		})
	}
}

// hidden is memory without a pointer to it, like that of a device.
type hidden struct{ mr.Memory }

func TestPayloadIsBorrowedWhereItCanBe(t *testing.T) {
	text := []byte("a message of 24 bytes...")
	for _, c := range []struct {
		name     string
		memory   mr.Memory
		borrowed bool
	}{
		{"memory of the process is not copied", mr.Bytes(text), true},
		{"other memory is", hidden{mr.Bytes(text)}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, nil)
			region, err := s.keys.Register(s.qp.PD, c.memory, 0x500000, uint64(len(text)), 0)
			if err != nil {
				t.Fatal(err)
			}
			sg := []qp.SGE{{Addr: 0x500000, Length: 24, LKey: region.LKey()}}
			if err := s.qp.SQ.Push(&qp.SendWR{Opcode: qp.WRSend, SGList: sg}); err != nil {
				t.Fatal(err)
			}
			s.rc.Transmit(s.now, nil, s.batch, 64)
			f := s.batch.At(0)
			if len(f.Payload) != 1 || !bytes.Equal(f.Payload[0], text) {
				t.Fatalf("the payload is %q", f.Payload)
			}
			if got := &f.Payload[0][0] == &text[0]; got != c.borrowed {
				t.Errorf("borrowed: %v", got)
			}
		})
	}
}

// unreadable is memory whose reads fail.
type unreadable struct{ hidden }

func (unreadable) ReadAt([]byte, uint64) error { return errors.New("broken") }

func TestMemoryThatCannotBeReadFailsTheRequest(t *testing.T) {
	s := newScript(t, nil)
	region, err := s.keys.Register(s.qp.PD, unreadable{hidden{mr.Bytes(make([]byte, 24))}}, 0x500000, 24, mr.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	s.regions["broken"] = region
	s.run(`
		<+ RDMA_READ_REQUEST psn=100 va=0x500000 dma=24 rkey=broken ack
		send 64
		event QP_FATAL
		> ACKNOWLEDGE psn=100 syn=op msn=1
		counts sent_error_naks=1
		state ERR`)
	s = newScript(t, nil)
	if region, err = s.keys.Register(
		s.qp.PD, unreadable{hidden{mr.Bytes(make([]byte, 24))}}, 0x500000, 24, 0); err != nil {
		t.Fatal(err)
	}
	sg := []qp.SGE{{Addr: 0x500000, Length: 24, LKey: region.LKey()}}
	if err := s.qp.SQ.Push(&qp.SendWR{ID: 1, Opcode: qp.WRSend, SGList: sg}); err != nil {
		t.Fatal(err)
	}
	s.run(`
		send 64
		wc 1 LOC_PROT_ERR
		state ERR`)
}

func TestCompletionsOfSendsTellTheLength(t *testing.T) {
	for status, want := range map[string]uint32{"ack": 24, "acc": 0} {
		s := newScript(t, nil)
		cq := qp.NewCQ(4)
		s.qp.SendCQ = cq
		s.run(`
			post send id=1 len=24
			> SEND_ONLY psn=100 len=24 ack
			< ACKNOWLEDGE psn=100 syn=` + status)
		wc := make([]qp.WC, 2)
		if n := cq.Poll(wc); n != 1 || wc[0].ByteLen != want {
			t.Errorf("%s: %d completions, the first of %d bytes, not %d", status, n, wc[0].ByteLen, want)
		}
	}
}
