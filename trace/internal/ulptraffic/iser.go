package ulptraffic

import "encoding/binary"

// iSER: RFC 7145 section 9; iSCSI: RFC 7143 section 11.

// iserPDU returns a control header and a BHS with data. STags are 0 if not valid.
func iserPDU(write, read uint32, address uint64, opcode, flags byte, itt uint32, data []byte) []byte {
	b := make([]byte, 28+48, 28+48+len(data)+3)
	be := binary.BigEndian
	b[0] = 0x10
	if write != 0 {
		b[0] |= 8
		be.PutUint32(b[4:], write)
		be.PutUint64(b[8:], address)
	}
	if read != 0 {
		b[0] |= 4
		be.PutUint32(b[16:], read)
		be.PutUint64(b[20:], address)
	}
	h := b[28:]
	h[0], h[1] = opcode, flags
	h[5], h[6], h[7] = byte(len(data)>>16), byte(len(data)>>8), byte(len(data))
	be.PutUint32(h[16:], itt)
	b = append(b, data...)
	for len(b)%4 != 0 {
		b = append(b, 0)
	}
	return b
}

// scsiCommand returns a SCSI Command that transfers n bytes.
func scsiCommand(write, read uint32, address uint64, itt, sn uint32, n int, cdb ...byte) []byte {
	flags := byte(0x81) // final, simple
	if write != 0 {
		flags |= 0x20
	}
	if read != 0 {
		flags |= 0x40
	}
	b := iserPDU(write, read, address, 1, flags, itt, nil)
	be := binary.BigEndian
	be.PutUint32(b[28+20:], uint32(n))
	be.PutUint32(b[28+24:], sn)
	be.PutUint32(b[28+28:], sn+100)
	copy(b[28+32:], cdb)
	return b
}

// scsiResponse returns a SCSI Response.
func scsiResponse(itt, sn uint32, status byte, sense []byte) []byte {
	b := iserPDU(0, 0, 0, 0x21, 0x80, itt, sense)
	be := binary.BigEndian
	b[28+3] = status
	be.PutUint32(b[28+24:], sn+100)
	be.PutUint32(b[28+28:], sn+1)
	be.PutUint32(b[28+32:], sn+64)
	return b
}

func iser(w *wire) {
	c := w.connect(3260, []byte{0xc0, 0, 0, 0}, []byte{0xc0, 0, 0, 0})
	login := []byte("InitiatorName=iqn.2026-11.example:host\x00TargetName=iqn.2026-11.example:disk\x00" +
		"SessionType=Normal\x00RDMAExtensions=Yes\x00")
	b := iserPDU(0, 0, 0, 0x43, 0x87, 1, login)
	binary.BigEndian.PutUint32(b[28+24:], 1)
	c.send(0, b)
	w.after(100_000)
	b = iserPDU(0, 0, 0, 0x23, 0x87, 1, []byte("TargetPortalGroupTag=1\x00RDMAExtensions=Yes\x00"))
	b[28+15] = 1
	binary.BigEndian.PutUint32(b[28+24:], 101)
	c.send(1, b)

	c.send(0, scsiCommand(0, 0x7101, 0x7e0000001000, 2, 1, 96, 0x12, 0, 0, 0, 96, 0)) // INQUIRY
	c.write(1, 0x7e0000001000, 0x7101, 96)
	c.send(1, scsiResponse(2, 1, 0, nil))
	c.send(0, scsiCommand(0, 0x7102, 0x7e0000002000, 3, 2, 8192, 0x28, 0, 0, 0, 8, 0, 0, 0, 16, 0)) // READ(10)
	w.after(90_000)
	c.write(1, 0x7e0000002000, 0x7102, 4096)
	c.write(1, 0x7e0000003000, 0x7102, 4096)
	c.sendInvalidating(1, 0x7102, scsiResponse(3, 2, 0, nil))
	c.send(0, scsiCommand(0x7103, 0, 0x7e0000004000, 4, 3, 4096,
		0x8a, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 8, 0, 0)) // WRITE(16)
	c.read(1, 0x7e0000004000, 0x7103, 4096)
	c.send(1, scsiResponse(4, 3, 0, nil))
	sense := []byte{0, 18, 0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0}
	c.send(0, scsiCommand(0, 0x7104, 0x7e0000002000, 5, 4, 4096, 0x28, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 8, 0))
	c.send(1, scsiResponse(5, 4, 2, sense)) // CHECK CONDITION
	b = iserPDU(0, 0, 0, 0x20, 0x80, 0xffffffff, nil)
	binary.BigEndian.PutUint32(b[28+20:], 9)
	c.send(1, b) // NOP-In of the target
	c.send(0, iserPDU(0, 0, 0, 0x46, 0x80, 6, nil))
	c.send(1, iserPDU(0, 0, 0, 0x26, 0x80, 6, nil)) // Logout
	c.disconnect()
}
