package record_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/internal/record"
	"github.com/gorxe/gorxe/packet"
	"github.com/gorxe/gorxe/qp"
	"github.com/gorxe/gorxe/trace/capture"
)

// Comments are attached to the frame that caused them, whatever was recorded in between.
func TestNotesStandOnTheirFrames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		r := record.New(&file, record.Options{})
		o := r.Observer()
		in := &stub{local: here4}
		l := r.Wrap("", in)
		wr := &qp.SendWQE{ID: 7, Opcode: qp.WRSend, Length: 4, Started: true, FirstPSN: 20, Packets: 1}

		o.Changed(0x12, qp.RTR, qp.RTS) // before any frame
		leave := packet.NewBatch(1).AppendFrame()
		leave.Header = append(leave.Header, sealed(here4, there4, 0, 20)...)
		o.Sending(0x12, leave, wr)
		send(t, l, there4, 0, 20)
		// Two equal frames, and one after them: the first one has an effect.
		in.frames = []packet.Received{received(there4, here4, 0, 1), received(there4, here4, 0, 1),
			received(there4, here4, 0, 2)}
		if err := l.Recv(packet.NewRecvBatch(3)); err != nil {
			t.Fatal(err)
		}
		took := &bth.Packet{Opcode: bth.RCSendOnly, DestQP: 0x11, PSN: 1}
		o.Receiving(0x11, took)
		o.Completed(0x11, &qp.WC{WRID: 3, Opcode: qp.WCRecv, ByteLen: 4}, nil)
		o.Received(0x11)
		o.Receiving(0x11, took)
		o.Received(0x11)
		o.Completed(0x12, &qp.WC{WRID: 7}, wr) // without a packet: on the latest frame of the queue pair
		time.Sleep(time.Minute)
		o.Changed(0x12, qp.RTS, qp.ERR) // all frames except the latest are written
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var got [][]string
		for _, p := range packets(t, &file) {
			got = append(got, p.Comments)
		}
		want := [][]string{
			{"queue pair 0x000012: RTR to RTS", "work request: wr_id 7 SEND 4 bytes",
				"completion of PSN 20: wr_id 7 success"},
			{"completion of a receive: wr_id 3 RECV success 4 bytes"}, nil, {"queue pair 0x000012: RTS to ERR"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

// A trace is written continuously, also with comments.
func TestFramesDoNotWaitForNotesForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		r := record.New(&file, record.Options{})
		r.Observer()
		l := r.Wrap("", &stub{local: here4})
		for psn := range bth.PSN(3) {
			send(t, l, there4, 0, psn)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		in, err := capture.Open(bytes.NewReader(file.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		var f capture.Frame
		n := 0
		for in.Next(&f) == nil {
			n++
		}
		if n != 2 {
			t.Errorf("%d frames are written, want all but the latest of 3", n)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		if all := packets(t, &file); len(all) != 3 {
			t.Errorf("%d frames", len(all))
		}
	})
}
