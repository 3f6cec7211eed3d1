package uapi

import "fmt"

// Object is the type of an object (enum uverbs_default_objects).
type Object uint16

const (
	ObjectDevice      Object = 0
	ObjectPD          Object = 1
	ObjectCompChannel Object = 2
	ObjectCQ          Object = 3
	ObjectQP          Object = 4
	ObjectSRQ         Object = 5
	ObjectAH          Object = 6
	ObjectMR          Object = 7
	ObjectMW          Object = 8
	ObjectFlow        Object = 9
	ObjectXRCD        Object = 10
	ObjectRWQIndTbl   Object = 11
	ObjectWQ          Object = 12
	ObjectFlowAction  Object = 13
	ObjectDM          Object = 14
	ObjectCounters    Object = 15
	ObjectAsyncEvent  Object = 16
)

var objects = names[Object]{headerIoctlCmds, []name[Object]{
	{"UVERBS_OBJECT_DEVICE", ObjectDevice},
	{"UVERBS_OBJECT_PD", ObjectPD},
	{"UVERBS_OBJECT_COMP_CHANNEL", ObjectCompChannel},
	{"UVERBS_OBJECT_CQ", ObjectCQ},
	{"UVERBS_OBJECT_QP", ObjectQP},
	{"UVERBS_OBJECT_SRQ", ObjectSRQ},
	{"UVERBS_OBJECT_AH", ObjectAH},
	{"UVERBS_OBJECT_MR", ObjectMR},
	{"UVERBS_OBJECT_MW", ObjectMW},
	{"UVERBS_OBJECT_FLOW", ObjectFlow},
	{"UVERBS_OBJECT_XRCD", ObjectXRCD},
	{"UVERBS_OBJECT_RWQ_IND_TBL", ObjectRWQIndTbl},
	{"UVERBS_OBJECT_WQ", ObjectWQ},
	{"UVERBS_OBJECT_FLOW_ACTION", ObjectFlowAction},
	{"UVERBS_OBJECT_DM", ObjectDM},
	{"UVERBS_OBJECT_COUNTERS", ObjectCounters},
	{"UVERBS_OBJECT_ASYNC_EVENT", ObjectAsyncEvent},
}}

// String returns the kernel's name of the value.
func (o Object) String() string { return objects.one(o) }

// Method is a method of an object: the Object in the upper 16 bits, the method_id in the lower 16.
type Method uint32

// Methods that gorxe supports.
const (
	MethodInvokeWrite Method = Method(ObjectDevice)<<16 + iota
	MethodInfoHandles
	MethodQueryPort
	MethodGetContext
	MethodQueryContext
	MethodQueryGIDTable
	MethodQueryGIDEntry
)

const (
	MethodPDDestroy Method = Method(ObjectPD) << 16

	MethodCQCreate  Method = Method(ObjectCQ) << 16
	MethodCQDestroy Method = Method(ObjectCQ)<<16 + 1

	MethodQPCreate  Method = Method(ObjectQP) << 16
	MethodQPDestroy Method = Method(ObjectQP)<<16 + 1

	MethodSRQCreate  Method = Method(ObjectSRQ) << 16
	MethodSRQDestroy Method = Method(ObjectSRQ)<<16 + 1

	MethodAHDestroy Method = Method(ObjectAH) << 16

	MethodMRDestroy   Method = Method(ObjectMR)<<16 + 1
	MethodAdviseMR    Method = Method(ObjectMR)<<16 + 2
	MethodQueryMR     Method = Method(ObjectMR)<<16 + 3
	MethodRegDMABufMR Method = Method(ObjectMR)<<16 + 4

	MethodMWDestroy       Method = Method(ObjectMW) << 16
	MethodXRCDDestroy     Method = Method(ObjectXRCD) << 16
	MethodAsyncEventAlloc Method = Method(ObjectAsyncEvent) << 16
)

// Object returns the object type of the method.
func (m Method) Object() Object { return Object(m >> 16) }

// String returns the kernel's name of the method, or the object and number of an unsupported one.
func (m Method) String() string {
	if s := FindMethod(m); s != nil {
		return s.Name
	}
	return fmt.Sprintf("%v method %d", m.Object(), uint16(m))
}

// AttrID identifies an attribute of a method: the Method in the upper 32 of 48 bits, the attr_id in
// the lower 16.
type AttrID uint64

// Attribute IDs of the input and output of the driver (UHW), the same in all methods that have
// these attributes.
const (
	uhwInID  = 0x1000 // UVERBS_ATTR_UHW_IN
	uhwOutID = 0x1001 // UVERBS_ATTR_UHW_OUT
)

// Attr returns the AttrID of the method's attribute with an attr_id.
func (m Method) Attr(id uint16) AttrID { return AttrID(m)<<16 | AttrID(id) }

// UHWIn returns the AttrID of the input for the driver.
func (m Method) UHWIn() AttrID { return m.Attr(uhwInID) }

// UHWOut returns the AttrID of the output of the driver.
func (m Method) UHWOut() AttrID { return m.Attr(uhwOutID) }

// Wire returns the attr_id, the value of Attr.AttrID.
func (a AttrID) Wire() uint16 { return uint16(a) }

// Method returns the method of the attribute.
func (a AttrID) Method() Method { return Method(a >> 16) }

// String returns the kernel's name of the attribute, or the method and number of an unknown one.
func (a AttrID) String() string {
	if m := FindMethod(a.Method()); m != nil {
		if i := m.index(uint16(a)); i >= 0 {
			return m.Attrs[i].Name
		}
	}
	return fmt.Sprintf("%v attribute %#x", a.Method(), uint16(a))
}
