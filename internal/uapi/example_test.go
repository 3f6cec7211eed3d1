package uapi_test

import (
	"fmt"

	"github.com/gorxe/gorxe/internal/uapi"
)

// A program calls QUERY_PORT for port 1 with room for 48 bytes at address 0x1000.
func ExampleCheck() {
	argument := (&uapi.Call{
		Method:   uapi.MethodQueryPort,
		DriverID: uapi.DriverRXE,
		Attrs: []uapi.Attr{
			{AttrID: uapi.AttrQueryPortPortNum.Wire(), Len: 8, Flags: uapi.AttrMandatory, Data: 1},
			{AttrID: uapi.AttrQueryPortResp.Wire(), Len: 48, Flags: uapi.AttrMandatory, Data: 0x1000},
		},
	}).Bytes()

	call, err := uapi.ParseCall(argument)
	if err != nil {
		fmt.Println(uapi.ErrnoOf(err))
		return
	}
	r, err := uapi.Check(call, uapi.DriverRXE)
	if err != nil {
		fmt.Println(uapi.ErrnoOf(err))
		return
	}
	port, err := r.Const(uapi.AttrQueryPortPortNum, 255)
	if err != nil {
		fmt.Println(uapi.ErrnoOf(err))
		return
	}
	resp := uapi.QueryPortRespEx{LegacyResp: uapi.QueryPortResp{
		State:     uint8(uapi.PortActive),
		ActiveMTU: uint8(uapi.MTU1024),
		LinkLayer: uint8(uapi.LinkLayerEthernet),
	}}
	room := r.Attr(uapi.AttrQueryPortResp)
	b := uapi.Fit(uapi.Encode(resp), int(room.Len))
	mark := call.MarkOutput(r.Index(uapi.AttrQueryPortResp))
	fmt.Printf("%v of port %d: %d bytes to %#x\n", call.Method, port, len(b), room.Data)
	fmt.Printf("flags %x at offset %d of the argument\n", mark.Bytes, mark.Offset)
	// Output:
	// UVERBS_METHOD_QUERY_PORT of port 1: 48 bytes to 0x1000
	// flags 0300 at offset 44 of the argument
}
