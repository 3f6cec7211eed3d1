//go:build linux

package uverbs

import (
	"encoding/binary"
	"fmt"
	"net"

	"github.com/gorxe/gorxe/internal/uapi"
	"github.com/gorxe/gorxe/verbs"
)

// port is the number of the only port.
const port = 1

func getContext(r *request) error {
	if err := r.output(uapi.AttrGetContextNumCompVectors, uint32(1)); err != nil {
		return err
	}
	return r.output(uapi.AttrGetContextCoreSupport, uapi.CoreSupportOptionalMRAccess)
}

func queryContext(r *request) error {
	if err := r.output(uapi.AttrQueryContextNumCompVectors, uint32(1)); err != nil {
		return err
	}
	return r.output(uapi.AttrQueryContextCoreSupport, uapi.CoreSupportOptionalMRAccess)
}

func (c *command) queryDevice() (any, error) { return c.ctx.deviceAttr(), nil }

func (c *command) queryDeviceEx() (any, error) {
	q, err := uapi.DecodeAs[uapi.ExQueryDevice](c.in)
	if err != nil {
		return nil, err
	}
	if q.CompMask != 0 || q.Reserved != 0 {
		return nil, fmt.Errorf("extended QUERY_DEVICE with the mask %#x: %w", q.CompMask, uapi.EINVAL)
	}
	resp := uapi.ExQueryDeviceResp{Base: c.ctx.deviceAttr(), DeviceCapFlagsEx: c.ctx.server.dev.Attr().DeviceCapFlagsEx}
	resp.ResponseLength = uint32(uapi.SizeOf(resp))
	return resp, nil
}

// deviceAttr returns the device's attributes, or the limits of a program if they are lower.
func (c *Context) deviceAttr() uapi.QueryDeviceResp {
	a := c.server.dev.Attr()
	r := uapi.QueryDeviceResp{
		MaxMRSize: a.MaxMRSize, PageSizeCap: a.PageSizeCap, VendorID: a.VendorID, VendorPartID: a.VendorPartID,
		HWVer: a.HWVer, MaxQP: uint32(min(a.MaxQP, programQPs)), MaxQPWR: uint32(a.MaxQPWR),
		DeviceCapFlags: a.DeviceCapFlags, MaxSGE: uint32(a.MaxSGE), MaxSGERd: uint32(a.MaxSGERd),
		MaxCQ: uint32(min(a.MaxCQ, programCQs)), MaxCQE: uint32(a.MaxCQE), MaxMR: uint32(min(a.MaxMR, programMRs)),
		MaxPD: uint32(min(a.MaxPD, programPDs)), MaxQPRdAtom: uint32(a.MaxQPRdAtom),
		MaxResRdAtom: uint32(a.MaxResRdAtom), MaxQPInitRdAtom: uint32(a.MaxQPInitRdAtom),
		AtomicCap: uint32(a.AtomicCap), MaxMW: uint32(min(a.MaxMW, programMWs)),
		MaxMcastGrp: uint32(a.MaxMcastGrp), MaxMcastQPAttach: uint32(a.MaxMcastQPAttach),
		MaxTotalMcastQPAttach: uint32(a.MaxMcastGrp * a.MaxMcastQPAttach), MaxAH: uint32(min(a.MaxAH, programAHs)),
		MaxSRQ: uint32(min(a.MaxSRQ, programSRQs)), MaxSRQWR: uint32(a.MaxSRQWR), MaxSRQSGE: uint32(a.MaxSRQSGE),
		MaxPKeys: uint16(a.MaxPkeys), LocalCAAckDelay: uint8(a.LocalCAAckDelay), PhysPortCnt: uint8(a.PhysPortCnt),
	}
	binary.BigEndian.PutUint64(r.NodeGUID[:], a.NodeGUID)
	binary.BigEndian.PutUint64(r.SysImageGUID[:], a.SysImageGUID)
	return r
}

func queryPort(r *request) error {
	n, err := r.Const(uapi.AttrQueryPortPortNum, 255)
	if err != nil {
		return err
	}
	if n != port {
		return noPort(uint32(n))
	}
	a := r.ctx.server.dev.PortAttr()
	resp := uapi.QueryPortRespEx{LegacyResp: uapi.QueryPortResp{
		PortCapFlags: uint32(uapi.PortCapCM | uapi.PortCapIPBasedGIDs), MaxMsgSz: uint32(a.MaxMsgSize),
		GIDTblLen: uint32(gidTableLen(a)), PKeyTblLen: uint16(a.PkeyTblLen), State: uint8(uapi.PortDown),
		MaxMTU: uint8(a.MaxMTU.Enum()), ActiveMTU: uint8(a.ActiveMTU.Enum()), MaxVLNum: 1,
		ActiveWidth: uapi.Width4X, ActiveSpeed: uapi.SpeedQDR, PhysState: uapi.PortPhysStateDisabled,
		LinkLayer: uint8(uapi.LinkLayerEthernet), Flags: uint8(uapi.PortGRHRequired),
	}}
	if a.State == "PORT_ACTIVE" {
		resp.LegacyResp.State, resp.LegacyResp.PhysState = uint8(uapi.PortActive), uapi.PortPhysStateLinkUp
	}
	return r.outputFit(uapi.AttrQueryPortResp, uapi.Encode(resp))
}

func noPort(n uint32) error { return fmt.Errorf("port %d: there is only port 1: %w", n, uapi.EINVAL) }

// Limits of the length of the GID table for programs.
const (
	minGIDTable = 16
	maxGIDTable = 256 // the sgid_index of an address handle has 8 bits
)

// gidTableLen returns the length of the GID table. As in the kernel, it includes empty entries
// for addresses that are added later.
func gidTableLen(a verbs.PortAttr) int {
	return min(max(a.GIDTableLen+1, minGIDTable), maxGIDTable)
}

// gidEntry converts an entry of the GID table to the form that programs read.
func gidEntry(g verbs.GIDEntry) uapi.GIDEntry {
	e := uapi.GIDEntry{GID: g.GID, GIDIndex: uint32(g.Index), PortNum: port, GIDType: uint32(uapi.GIDTypeRoCEv2)}
	if i, err := net.InterfaceByName(g.NetDev); err == nil {
		e.NetdevIfindex = uint32(i.Index)
	}
	return e
}

func queryGIDEntry(r *request) error {
	n, err := r.Const(uapi.AttrQueryGIDEntryPort, 1<<32-1)
	if err != nil {
		return err
	}
	index, err := r.Const(uapi.AttrQueryGIDEntryGIDIndex, 1<<32-1)
	if err != nil {
		return err
	}
	if _, err := r.Flags(uapi.AttrQueryGIDEntryFlags, 0); err != nil {
		return err
	}
	if n != port {
		return noPort(uint32(n))
	}
	for _, g := range r.ctx.server.dev.GIDs() {
		if uint64(g.Index) == index {
			return r.outputFit(uapi.AttrQueryGIDEntryRespEntry, uapi.Encode(gidEntry(g)))
		}
	}
	if index < uint64(gidTableLen(r.ctx.server.dev.PortAttr())) {
		return fmt.Errorf("GID %d is empty: %w", index, uapi.ENODATA)
	}
	return fmt.Errorf("GID %d is beyond the table: %w", index, uapi.EINVAL)
}

func queryGIDTable(r *request) error {
	size, err := r.Const(uapi.AttrQueryGIDTableEntrySize, 1<<16)
	if err != nil {
		return err
	}
	if _, err := r.Flags(uapi.AttrQueryGIDTableFlags, 0); err != nil {
		return err
	}
	if size == 0 {
		return fmt.Errorf("entries of no bytes: %w", uapi.EINVAL)
	}
	gids := r.ctx.server.dev.GIDs()
	if room := r.Attr(uapi.AttrQueryGIDTableRespEntries); int(room.Len)/int(size) < len(gids) {
		return fmt.Errorf("room for %d GIDs, there are %d: %w", int(room.Len)/int(size), len(gids), uapi.EINVAL)
	}
	var b []byte
	for _, g := range gids {
		b = append(b, uapi.Fit(uapi.Encode(gidEntry(g)), int(size))...)
	}
	if err := r.output(uapi.AttrQueryGIDTableRespEntries, b); err != nil {
		return err
	}
	return r.output(uapi.AttrQueryGIDTableRespNumEntries, uint64(len(gids)))
}
