package mr

import (
	"fmt"
	"strings"
)

// Access is a set of access rights of a region or a queue pair. The values are those of
// ibv_access_flags. Local read access is always granted and has no bit.
type Access uint32

const (
	LocalWrite      Access = 1 << 0
	RemoteWrite     Access = 1 << 1
	RemoteRead      Access = 1 << 2
	RemoteAtomic    Access = 1 << 3
	MWBind          Access = 1 << 4
	ZeroBased       Access = 1 << 5
	OnDemand        Access = 1 << 6
	HugeTLB         Access = 1 << 7
	FlushGlobal     Access = 1 << 8
	FlushPersistent Access = 1 << 9
	RelaxedOrdering Access = 1 << 20
)

// optionalAccess is IBV_ACCESS_OPTIONAL_RANGE: flags that a provider may ignore, so that a
// program can set flags that the device does not know.
const optionalAccess Access = 0x3ff00000

var accessNames = []struct {
	bit  Access
	name string
}{
	{LocalWrite, "LOCAL_WRITE"},
	{RemoteWrite, "REMOTE_WRITE"},
	{RemoteRead, "REMOTE_READ"},
	{RemoteAtomic, "REMOTE_ATOMIC"},
	{MWBind, "MW_BIND"},
	{ZeroBased, "ZERO_BASED"},
	{OnDemand, "ON_DEMAND"},
	{HugeTLB, "HUGETLB"},
	{FlushGlobal, "FLUSH_GLOBAL"},
	{FlushPersistent, "FLUSH_PERSISTENT"},
	{RelaxedOrdering, "RELAXED_ORDERING"},
}

// String joins the verbs names without their IBV_ACCESS_ prefix, such as
// "LOCAL_WRITE|REMOTE_READ". Bits without a name follow in hex. It returns "0" for no bits.
func (a Access) String() string {
	if a == 0 {
		return "0"
	}
	var parts []string
	for _, n := range accessNames {
		if a&n.bit != 0 {
			parts = append(parts, n.name)
			a &^= n.bit
		}
	}
	if a != 0 {
		parts = append(parts, fmt.Sprintf("%#x", uint32(a)))
	}
	return strings.Join(parts, "|")
}

// validate checks the flags of a new region against the rules of ibv_reg_mr.
func (a Access) validate() error {
	known := optionalAccess
	for _, n := range accessNames {
		known |= n.bit
	}
	if unknown := a &^ known; unknown != 0 {
		return fmt.Errorf("mr: unknown access flags %#x; clear them", uint32(unknown))
	}
	if remote := a & (RemoteWrite | RemoteAtomic); remote != 0 && a&LocalWrite == 0 {
		return fmt.Errorf("mr: access %v requires LOCAL_WRITE; add it", remote)
	}
	return nil
}
