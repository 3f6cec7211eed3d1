package ucma

import (
	"encoding/binary"
	"testing"

	"github.com/gorxe/gorxe/internal/uapi"
)

// FuzzCommands makes a program write arbitrary commands. The first bytes of each are the number
// of the command, a channel and a length; identifiers are small numbers, so they are often valid.
func FuzzCommands(f *testing.F) {
	add := func(cmds ...any) {
		var b []byte
		for i := 0; i < len(cmds); i += 2 {
			body := uapi.Encode(cmds[i+1])
			b = append(b, byte(cmds[i].(uapi.UCMCommand)), 0, byte(len(body)), byte(len(body)>>8))
			b = append(b, body...)
		}
		f.Add(b)
	}
	create := uapi.UCMCreateID{UID: 1, Response: base, PS: uint16(uapi.PortSpaceTCP)}
	add(uapi.UCMCmdCreateID, create, uapi.UCMCmdBindIP, uapi.UCMBindIP{ID: 1, Addr: uapi.NewSockaddr(peerAt(1))},
		uapi.UCMCmdListen, uapi.UCMListen{ID: 1}, uapi.UCMCmdDestroyID, uapi.UCMDestroyID{ID: 1, Response: base})
	add(uapi.UCMCmdCreateID, create, uapi.UCMCmdResolveIP,
		uapi.UCMResolveIP{ID: 1, DstAddr: uapi.NewSockaddr(peerAt(1))},
		uapi.UCMCmdGetEvent, uapi.UCMGetEvent{Response: base}, uapi.UCMCmdResolveRoute, uapi.UCMResolveRoute{ID: 1},
		uapi.UCMCmdConnect, uapi.UCMConnect{ConnParam: param(nil, "x"), ID: 1},
		uapi.UCMCmdDisconnect, uapi.UCMDisconnect{ID: 1},
		uapi.UCMCmdInitQPAttr, uapi.UCMInitQPAttr{ID: 1, Response: base, QPState: 1})
	create.PS = uint16(uapi.PortSpaceUDP)
	add(uapi.UCMCmdCreateID, create, uapi.UCMCmdListen, uapi.UCMListen{ID: 1},
		uapi.UCMCmdJoinIPMcast, uapi.UCMJoinIPMcast{ID: 1, Response: base},
		uapi.UCMCmdMigrateID, uapi.UCMMigrateID{ID: 1, FD: 0, Response: base},
		uapi.UCMCmdQuery, uapi.UCMQuery{ID: 1, Response: base}, uapi.UCMCmdAccept, uapi.UCMAccept{ID: 1},
		uapi.UCMCmdReject, uapi.UCMReject{ID: 1}, uapi.UCMCmdSetOption, uapi.UCMSetOption{ID: 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		s := hosts(t)
		p := start(t, s[0])
		p.room(1 << 12)
		channels := [2]*channel{p.open(), p.open()}
		p.channels[0] = channels[0].ch // a descriptor that every input can use
		for _, c := range channels {
			c.nonBlocking()
		}
		for len(b) >= 4 {
			cmd, c, size := uint32(b[0]), channels[b[1]&1], int(binary.LittleEndian.Uint16(b[2:]))
			b = b[4:]
			body := b[:min(size, len(b))]
			b = b[len(body):]
			done := make(chan error, 1)
			head := uapi.Encode(uapi.UCMCmdHdr{Cmd: cmd, In: uint16(size), Out: 512})
			c.ch.Write(c, append(head, body...), func(err error) { done <- err })
			<-done
		}
	})
}
