package conformance_test

import (
	"context"
	"fmt"
	"log"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
	"github.com/gorxe/gorxe/conformance"
	"github.com/gorxe/gorxe/conformance/cases"
	"github.com/gorxe/gorxe/conformance/device"
	"github.com/gorxe/gorxe/conformance/wire"
)

// A Go program tests a device with all cases of gorxe and one of its own, for example a request
// with a field that the device uses in its own way.
func ExampleRunner() {
	local, dut := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.7")
	link, _, err := wire.Listen(local) // raw if the process may, else UDP
	if err != nil {
		log.Fatal(err)
	}
	defer link.Close()
	d := &device.Stock{Host: dut, Addr: dut, Start: "ssh -tt root@192.0.2.7", Name: "rxe0", GIDIndex: 1}
	defer d.Close()

	own := &conformance.Case{
		ID: "responder/9001", Level: conformance.Shall, Program: conformance.WriteServer,
		Rule:   "A WRITE is acknowledged if the solicited event bit is set.",
		Source: "IBA 9.2.3",
		Run: func(t *conformance.T) {
			c := t.Connect()
			p := c.Write(0, []byte("12345678"))
			p.Solicited = true
			c.Send(p)
			c.Expect(conformance.AckOf(p.PSN))
			c.PSN = c.PSN.Add(1)

			p = c.Request(bth.RCWriteOnly) // any field can be wrong
			p.RETH = bth.RETH{VA: c.Target.VA, RKey: ^c.Target.RKey, DMALen: 8}
			p.Payload = make([]byte, 8)
			c.Send(p)
			c.Expect(conformance.NakOf(p.PSN, bth.NakRemoteAccess))
			c.Dead("a wrong R_Key")
		},
	}
	r := &conformance.Runner{Device: d, Link: link}
	for _, x := range r.Run(context.Background(), append(cases.All(), own)) {
		fmt.Println(x.Case.ID, x.Verdict, x.Detail)
	}
}
