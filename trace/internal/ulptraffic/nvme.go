package ulptraffic

import "encoding/binary"

// NVMe over Fabrics: NVMe-oF 1.1 sections 2, 3 and 7.3.

// nvmeSQE returns a command with a keyed SGL descriptor.
func nvmeSQE(opcode byte, cid uint16, address uint64, n int, key uint32) []byte {
	b := make([]byte, 64)
	le := binary.LittleEndian
	b[0], b[1] = opcode, 0x40
	le.PutUint16(b[2:], cid)
	le.PutUint64(b[24:], address)
	le.PutUint32(b[32:], uint32(n)) // 24 bits
	le.PutUint32(b[35:], key)
	b[39] = 0x40
	return b
}

// nvmeFabrics returns a Fabrics command.
func nvmeFabrics(fctype byte, cid uint16, address uint64, n int, key uint32) []byte {
	b := nvmeSQE(0x7f, cid, address, n, key)
	b[4] = fctype
	return b
}

// nvmeIO returns a command for namespace 1 with SLBA and a number of blocks.
func nvmeIO(opcode byte, cid uint16, address uint64, n int, key uint32, lba uint64, blocks uint16) []byte {
	b := nvmeSQE(opcode, cid, address, n, key)
	b[4] = 1
	if blocks > 0 {
		binary.LittleEndian.PutUint64(b[40:], lba)
		binary.LittleEndian.PutUint16(b[48:], blocks-1)
	}
	return b
}

// nvmeCQE returns a response; status is SCT<<8 | SC.
func nvmeCQE(cid uint16, head uint16, result uint64, status uint16) []byte {
	b := make([]byte, 16)
	le := binary.LittleEndian
	le.PutUint64(b, result)
	le.PutUint16(b[8:], head)
	le.PutUint16(b[12:], cid)
	le.PutUint16(b[14:], status<<1)
	return b
}

// nvmeConnect establishes a queue.
func nvmeConnect(w *wire, qid, size uint16) *conn {
	le := binary.LittleEndian
	req, rep := make([]byte, 32), make([]byte, 32)
	le.PutUint16(req[2:], qid)
	le.PutUint16(req[4:], size)
	le.PutUint16(req[6:], size-1)
	le.PutUint16(rep[2:], size)
	c := w.connect(4420, req, rep)
	const key = 0x5100
	b := nvmeFabrics(1, 0, 0x7f0000001000, 1024, key)
	le.PutUint16(b[42:], qid)
	le.PutUint16(b[44:], size-1)
	if qid == 0 {
		le.PutUint32(b[48:], 15000)
	}
	c.send(0, b)
	w.after(10_000)
	c.read(1, 0x7f0000001000, key, 1024)
	w.after(50_000)
	c.send(1, nvmeCQE(0, 1, 1, 0))
	return c
}

func nvme(w *wire) {
	admin := nvmeConnect(w, 0, 32)
	b := nvmeFabrics(4, 1, 0, 0, 0) // Property Get: CAP
	b[40] = 1
	admin.send(0, b)
	admin.send(1, nvmeCQE(1, 2, 0x0020002014003fff, 0))
	b = nvmeFabrics(0, 2, 0, 0, 0) // Property Set: CC
	binary.LittleEndian.PutUint32(b[44:], 0x14)
	binary.LittleEndian.PutUint64(b[48:], 0x460001)
	admin.send(0, b)
	admin.send(1, nvmeCQE(2, 3, 0, 0))
	b = nvmeSQE(0x06, 3, 0x7f0000010000, 4096, 0x5103) // Identify controller
	b[40] = 1
	admin.send(0, b)
	w.after(20_000)
	admin.write(1, 0x7f0000010000, 0x5103, 4096)
	admin.sendInvalidating(1, 0x5103, nvmeCQE(3, 4, 0, 0))
	admin.send(0, nvmeSQE(0x0c, 4, 0, 0, 0)) // Asynchronous Event Request: no response
	admin.send(0, nvmeSQE(0x18, 5, 0, 0, 0)) // Keep Alive
	admin.send(1, nvmeCQE(5, 6, 0, 0))

	io := nvmeConnect(w, 1, 128)
	// Two Reads, answered in the opposite order.
	io.send(0, nvmeIO(2, 10, 0x7f0000020000, 4096, 0x6010, 2048, 8))
	io.send(0, nvmeIO(2, 11, 0x7f0000030000, 8192, 0x6011, 4096, 16))
	w.after(80_000)
	io.write(1, 0x7f0000030000, 0x6011, 4096)
	io.write(1, 0x7f0000031000, 0x6011, 4096)
	io.sendInvalidating(1, 0x6011, nvmeCQE(11, 7, 0, 0))
	io.write(1, 0x7f0000020000, 0x6010, 4096)
	io.sendInvalidating(1, 0x6010, nvmeCQE(10, 7, 0, 0))
	// Write: the controller READs the data.
	io.send(0, nvmeIO(1, 12, 0x7f0000040000, 8192, 0x6012, 8192, 16))
	io.read(1, 0x7f0000040000, 0x6012, 8192)
	w.after(30_000)
	io.send(1, nvmeCQE(12, 8, 0, 0))
	// Write with data in the capsule: a SEND of five packets.
	b = nvmeIO(1, 13, 0, 4096, 0, 8208, 8)
	b[35], b[39] = 0, 0x01
	io.send(0, append(b, pattern(4096)...))
	io.send(1, nvmeCQE(13, 9, 0, 0))
	io.send(0, nvmeIO(0, 14, 0, 0, 0, 0, 0)) // Flush
	w.after(400_000)
	io.send(1, nvmeCQE(14, 10, 0, 0))
	io.send(0, nvmeIO(2, 15, 0x7f0000020000, 4096, 0x6015, 1<<40, 8))
	io.send(1, nvmeCQE(15, 11, 0, 0x4080)) // DNR, LBA Out of Range
	io.disconnect()
	admin.disconnect()
}
