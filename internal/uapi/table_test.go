package uapi

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

func TestMethodsAndAttributesAreThereOnce(t *testing.T) {
	ids, names := map[Method]bool{}, map[string]bool{}
	for _, m := range MethodSpecs() {
		if ids[m.ID] || names[m.Name] {
			t.Errorf("%s is there twice", m.Name)
		}
		ids[m.ID], names[m.Name] = true, true
		attrs, attrNames := map[AttrID]bool{}, map[string]bool{}
		for _, a := range m.Attrs {
			if attrs[a.ID] || attrNames[a.Name] {
				t.Errorf("%s: %s is there twice", m.Name, a.Name)
			}
			attrs[a.ID], attrNames[a.Name] = true, true
			if a.ID.Method() != m.ID {
				t.Errorf("%s: %s is of another method", m.Name, a.Name)
			}
			if a.ID.String() != a.Name {
				t.Errorf("%s is called %v", a.Name, a.ID)
			}
		}
		if m.ID.String() != m.Name {
			t.Errorf("%s is called %v", m.Name, m.ID)
		}
	}
}

func TestAttributeRulesFitTheirKind(t *testing.T) {
	for _, m := range MethodSpecs() {
		destroys := 0
		for _, a := range m.Attrs {
			switch {
			case !a.Kind.pointer() && (a.Min != 0 || a.Max != 0 || a.ZeroTail || a.Object == ObjectDevice):
				t.Errorf("%s: a %v has an object and no length", a.Name, a.Kind)
			case a.Kind.pointer() && (a.Min > a.Max || a.Max == 0 || a.Max > MaxLen || a.Object != 0):
				t.Errorf("%s: a %v has a length and no object", a.Name, a.Kind)
			case (a.Kind == NewIDR || a.Kind == DestroyIDR) && (a.Object != m.ID.Object() || !a.Mandatory):
				t.Errorf("%s makes or destroys an object of %s, and is mandatory", a.Name, m.Name)
			}
			if a.Kind == DestroyIDR {
				destroys++
			}
		}
		if destroys > 1 {
			t.Errorf("%s destroys %d objects", m.Name, destroys)
		}
	}
}

func TestLengthsOfAttributesAreThoseOfTheirStructs(t *testing.T) {
	for id, v := range map[AttrID]any{
		AttrQueryPortResp:          QueryPortRespEx{},
		AttrQueryGIDEntryRespEntry: GIDEntry{},
		AttrDestroyCQResp:          DestroyCQResp{},
		AttrDestroyQPResp:          DestroyQPResp{},
		AttrDestroySRQResp:         DestroySRQResp{},
		AttrCreateQPCap:            QPCap{},
		AttrCreateQPRespCap:        QPCap{},
	} {
		m := FindMethod(id.Method())
		if s := m.Attrs[m.index(uint16(id))]; s.Max != SizeOf(v) {
			t.Errorf("%v has %d bytes, %T has %d", id, s.Max, v, SizeOf(v))
		}
	}
	if m := FindMethod(MethodAdviseMR); m.Attrs[m.index(AttrAdviseMRSGEList.Wire())].Min != SizeOf(SGE{}) {
		t.Error("a list of scatter/gather elements has one at least")
	}
}

func TestLeastLengthsOfLegacyCommandsAreThoseOfTheirStructs(t *testing.T) {
	shorter := map[Command][2]int{ // bytes of request and response that may be absent
		CmdExQueryDevice: {0, 120},
		CmdExCreateQP:    {12, 0},
		CmdExModifyQP:    {8, 0},
	}
	seen := map[Command]bool{}
	for _, s := range CommandSpecs() {
		if seen[s.Command] {
			t.Errorf("%v is there twice", s.Command)
		}
		seen[s.Command] = true
		checkRoom(t, s.Command.String(), s.Req, s.Resp, s.MinIn, s.MinOut, shorter[s.Command])
		f, hasResponse := reflect.TypeOf(s.Req).FieldByName("Response")
		legacy := s.Command&CmdFlagExtended == 0
		if hasResponse != (legacy && s.Resp != nil) || hasResponse && f.Offset != 0 {
			t.Errorf("%v: requests begin with the address of the response if there is one and they are not extended",
				s.Command)
		}
	}
}

func TestLeastLengthsOfRDMACMCommandsAreThoseOfTheirStructs(t *testing.T) {
	shorter := map[UCMCommand][2]int{
		UCMCmdConnect:    {8, 0},   // ECE
		UCMCmdAccept:     {8, 0},   // ECE
		UCMCmdQueryRoute: {0, 8},   // ibdev_index, reserved1
		UCMCmdGetEvent:   {0, 12},  // reserved, ECE
		UCMCmdQuery:      {0, 272}, // the shortest of three responses
	}
	var last UCMCommand
	for i, s := range UCMCommandSpecs() {
		if i > 0 && s.Command <= last {
			t.Errorf("%v comes after %v", s.Command, last)
		}
		last = s.Command
		checkRoom(t, s.Command.String(), s.Req, s.Resp, s.MinIn, s.MinOut, shorter[s.Command])
	}
	if got := len(UCMCommandSpecs()); got != numUCMCommands-1 {
		t.Errorf("%d commands, all except GET_OPTION are %d", got, numUCMCommands-1)
	}
}

func checkRoom(t *testing.T, name string, req, resp any, in, out int, absent [2]int) {
	t.Helper()
	if want := SizeOf(req) - absent[0]; in != want {
		t.Errorf("%s: request of %d bytes, %T needs %d", name, in, req, want)
	}
	want := 0
	if resp != nil {
		want = SizeOf(resp) - absent[1]
	}
	if out != want {
		t.Errorf("%s: response of %d bytes, %T needs %d", name, out, resp, want)
	}
}

func TestStructsOfTheTablesAreRegistered(t *testing.T) {
	registered := map[reflect.Type]bool{reflect.TypeOf(nil): true}
	for _, s := range Structs() {
		registered[reflect.TypeOf(s.Value)] = true
	}
	for _, s := range CommandSpecs() {
		if !registered[reflect.TypeOf(s.Req)] || !registered[reflect.TypeOf(s.Resp)] {
			t.Errorf("%v: %T or %T is not registered", s.Command, s.Req, s.Resp)
		}
	}
	for _, s := range UCMCommandSpecs() {
		if !registered[reflect.TypeOf(s.Req)] || !registered[reflect.TypeOf(s.Resp)] {
			t.Errorf("%v: %T or %T is not registered", s.Command, s.Req, s.Resp)
		}
	}
}

func TestConstantsHaveOneValue(t *testing.T) {
	values := map[string]uint64{}
	for _, c := range Constants() {
		if v, ok := values[c.C]; ok && v != c.Value {
			t.Errorf("%s is %d and %d", c.C, v, c.Value)
		}
		values[c.C] = c.Value
	}
	for c, want := range map[string]uint64{
		"RDMA_VERBS_IOCTL":            0xc0181b01,
		"UVERBS_METHOD_QUERY_MR":      3,
		"UVERBS_ATTR_ADVISE_MR_FLAGS": 2,
		"UVERBS_ATTR_UHW_OUT":         0x1001,
	} {
		if got, ok := values[c]; !ok || got != want {
			t.Errorf("%s is %#x, %v", c, got, ok)
		}
	}
}

func TestNamesAreTheKernels(t *testing.T) {
	var got []string
	for _, s := range []interface{ String() string }{
		ObjectCQ, Object(99), MethodCQCreate, MethodCQCreate + 9, AttrCreateCQCQE, MethodCQCreate.UHWOut(),
		AttrCreateCQCQE + 90, CmdReqNotifyCQ, CmdExModifyQP, UCMCmdGetEvent, UCMEventTimewaitExit, QPSRTS,
		QPMaskState | QPMaskDestQPN | 1<<24, AccessFlags(0), WCWRFlushErr, WCRecv, EventGIDChange, PortActive,
		MTU4096, GIDTypeRoCEv2, NewIDR, NewFD, NewFD + 1,
	} {
		got = append(got, s.String())
	}
	want := []string{
		"UVERBS_OBJECT_CQ", "0x63", "UVERBS_METHOD_CQ_CREATE", "UVERBS_OBJECT_CQ method 9",
		"UVERBS_ATTR_CREATE_CQ_CQE", "UVERBS_ATTR_UHW_OUT", "UVERBS_METHOD_CQ_CREATE attribute 0x5b",
		"IB_USER_VERBS_CMD_REQ_NOTIFY_CQ", "IB_USER_VERBS_CMD_FLAG_EXTENDED|IB_USER_VERBS_EX_CMD_MODIFY_QP",
		"RDMA_USER_CM_CMD_GET_EVENT", "RDMA_CM_EVENT_TIMEWAIT_EXIT", "IBV_QPS_RTS",
		"IBV_QP_STATE|IBV_QP_DEST_QPN|0x1000000", "0x0", "IBV_WC_WR_FLUSH_ERR", "IBV_WC_RECV",
		"IBV_EVENT_GID_CHANGE", "IBV_PORT_ACTIVE", "IBV_MTU_4096", "IB_UVERBS_GID_TYPE_ROCE_V2", "new idr",
		"new fd", "unknown",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestMTUInBytes(t *testing.T) {
	for m, want := range map[MTU]int{0: 0, MTU256: 256, MTU1024: 1024, MTU4096: 4096, 6: 0} {
		if got := m.Bytes(); got != want {
			t.Errorf("MTU %d has %d bytes, want %d", uint8(m), got, want)
		}
	}
}

// saysNames checks that the String method of a type returns the names of its values.
func saysNames[T interface {
	unsigned
	fmt.Stringer
}](t *testing.T, n names[T]) {
	t.Helper()
	for _, e := range n.all {
		if got := e.value.String(); got != e.c {
			t.Errorf("%s is called %s", e.c, got)
		}
	}
}

func TestEveryValueSaysItsName(t *testing.T) {
	saysNames(t, objects)
	saysNames(t, commands)
	saysNames(t, errnos)
	saysNames(t, deviceCaps)
	saysNames(t, atomicCaps)
	saysNames(t, nodeTypes)
	saysNames(t, driverIDs)
	saysNames(t, coreSupports)
	saysNames(t, portStates)
	saysNames(t, linkLayers)
	saysNames(t, mtus)
	saysNames(t, gidTypes)
	saysNames(t, portCaps)
	saysNames(t, portFlags)
	saysNames(t, accessFlags)
	saysNames(t, reregFlags)
	saysNames(t, mwTypes)
	saysNames(t, adviseMRs)
	saysNames(t, cqFlags)
	saysNames(t, wcStatuses)
	saysNames(t, wcOpcodes)
	saysNames(t, wcFlags)
	saysNames(t, eventTypes)
	saysNames(t, qpTypes)
	saysNames(t, qpStates)
	saysNames(t, qpMasks)
	saysNames(t, migStates)
	saysNames(t, qpCreateFlags)
	saysNames(t, wrOpcodes)
	saysNames(t, sendFlags)
	saysNames(t, srqAttrMasks)
	saysNames(t, srqTypes)
	saysNames(t, ucmCommands)
	saysNames(t, portSpaces)
	saysNames(t, queryOptions)
	saysNames(t, optionLevels)
	saysNames(t, optionIDs)
	saysNames(t, optionIBs)
	saysNames(t, joinFlags)
	saysNames(t, pathFlags)
	saysNames(t, ucmEvents)
}
