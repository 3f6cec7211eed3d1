package ulptraffic

import "encoding/binary"

// SMB Direct: MS-SMBD section 2.2; SMB2: MS-SMB2 section 2.2.

// smbdData returns a Data Transfer; more bytes of the SMB2 message follow.
func smbdData(credits, granted uint16, more int, data []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, 24)
	le.PutUint16(b, credits)
	le.PutUint16(b[2:], granted)
	le.PutUint32(b[8:], uint32(more))
	if len(data) == 0 {
		return b[:20]
	}
	le.PutUint32(b[12:], 24)
	le.PutUint32(b[16:], uint32(len(data)))
	return append(b, data...)
}

// smb2 returns an SMB2 header and a body. flags is 1 for a response, 3 for an interim response.
func smb2(command uint16, id uint64, flags, status uint32, body []byte) []byte {
	le := binary.LittleEndian
	b := make([]byte, 64)
	copy(b, "\xfeSMB")
	b[4], b[6] = 64, 1
	le.PutUint32(b[8:], status)
	le.PutUint16(b[12:], command)
	le.PutUint16(b[14:], 32)
	le.PutUint32(b[16:], flags)
	le.PutUint64(b[24:], id)
	if flags&2 != 0 {
		le.PutUint64(b[32:], 77)
	} else {
		le.PutUint32(b[36:], 5)
	}
	le.PutUint64(b[40:], 0x1122334455667788)
	return append(b, body...)
}

// smb2Read returns the body of a READ Request with buffer descriptors.
func smb2Read(n int, offset uint64, descriptors ...[3]uint64) []byte {
	le := binary.LittleEndian
	b := make([]byte, 48)
	b[0], b[2] = 49, 0x50
	le.PutUint32(b[4:], uint32(n))
	le.PutUint64(b[8:], offset)
	b[16], b[24] = 1, 2
	le.PutUint32(b[36:], 2) // SMB2_CHANNEL_RDMA_V1_INVALIDATE
	le.PutUint16(b[44:], 64+48)
	le.PutUint16(b[46:], uint16(16*len(descriptors)))
	return smbdDescriptors(b, descriptors)
}

// smb2Write returns the body of a WRITE Request with buffer descriptors.
func smb2Write(n int, offset uint64, descriptors ...[3]uint64) []byte {
	le := binary.LittleEndian
	b := make([]byte, 48)
	b[0] = 49
	le.PutUint64(b[8:], offset)
	b[16], b[24] = 1, 2
	le.PutUint32(b[32:], 1) // SMB2_CHANNEL_RDMA_V1
	le.PutUint32(b[36:], uint32(n))
	le.PutUint16(b[40:], 64+48)
	le.PutUint16(b[42:], uint16(16*len(descriptors)))
	return smbdDescriptors(b, descriptors)
}

// smbdDescriptors appends buffer descriptors: offset, token, length.
func smbdDescriptors(b []byte, descriptors [][3]uint64) []byte {
	for _, d := range descriptors {
		b = binary.LittleEndian.AppendUint64(b, d[0])
		b = binary.LittleEndian.AppendUint32(b, uint32(d[1]))
		b = binary.LittleEndian.AppendUint32(b, uint32(d[2]))
	}
	return b
}

func smbDirect(w *wire) {
	le := binary.LittleEndian
	c := w.connect(445, nil, nil)
	b := make([]byte, 20)
	le.PutUint16(b, 0x100)
	le.PutUint16(b[2:], 0x100)
	le.PutUint16(b[6:], 255)
	le.PutUint32(b[8:], 1364)
	le.PutUint32(b[12:], 8192)
	le.PutUint32(b[16:], 1<<20)
	c.send(0, b)
	b = make([]byte, 32)
	le.PutUint16(b, 0x100)
	le.PutUint16(b[2:], 0x100)
	le.PutUint16(b[4:], 0x100)
	le.PutUint16(b[8:], 255)
	le.PutUint16(b[10:], 255)
	le.PutUint32(b[16:], 8<<20)
	le.PutUint32(b[20:], 1364)
	le.PutUint32(b[24:], 8192)
	le.PutUint32(b[28:], 1<<20)
	c.send(1, b)

	c.send(0, smbdData(255, 255, 0, smb2(13, 4, 0, 0, []byte{4, 0, 0, 0}))) // ECHO
	c.send(1, smbdData(255, 10, 0, smb2(13, 4, 1, 0, []byte{4, 0, 0, 0})))
	// READ into two buffers.
	c.send(0, smbdData(255, 1, 0, smb2(8, 5, 0, 0,
		smb2Read(8192, 65536, [3]uint64{0x7d0000001000, 0x8101, 4096}, [3]uint64{0x7d0000009000, 0x8102, 4096}))))
	w.after(120_000)
	c.write(1, 0x7d0000001000, 0x8101, 4096)
	c.write(1, 0x7d0000009000, 0x8102, 4096)
	body := []byte{17, 0, 0x50, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0}
	c.sendInvalidating(1, 0x8101, smbdData(255, 1, 0, smb2(8, 5, 1, 0, body)))
	// WRITE, with an interim response.
	c.send(0, smbdData(255, 1, 0, smb2(9, 6, 0, 0, smb2Write(4096, 131072, [3]uint64{0x7d0000011000, 0x8103, 4096}))))
	c.send(1, smbdData(255, 1, 0, smb2(9, 6, 3, 0x103, []byte{9, 0, 0, 0, 0, 0, 0, 0, 0})))
	c.read(1, 0x7d0000011000, 0x8103, 4096)
	w.after(900_000)
	c.send(1, smbdData(255, 1, 0, smb2(9, 6, 3, 0, []byte{17, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})))
	// An SMB2 message of two SENDs, and one without data that grants credits.
	m := smb2(17, 7, 0, 0, append([]byte{33, 0, 1, 20, 0, 0, 0, 0, 0x60, 0, 0, 0}, pattern(1500)...))
	c.send(0, smbdData(255, 1, len(m)-1340, m[:1340]))
	c.send(1, smbdData(255, 2, 0, nil))
	c.send(0, smbdData(255, 0, 0, m[1340:]))
	c.send(1, smbdData(255, 1, 0, smb2(17, 7, 1, 0xc0000022, []byte{9, 0, 0, 0, 0, 0, 0, 0, 0}))) // ACCESS_DENIED
	c.disconnect()
}
