package ulp

// nvmeAdminNames are the admin commands by opcode (NVMe base specification 1.4, figure 139).
var nvmeAdminNames = [256]string{
	0x00: "Delete I/O Submission Queue",
	0x01: "Create I/O Submission Queue",
	0x02: "Get Log Page",
	0x04: "Delete I/O Completion Queue",
	0x05: "Create I/O Completion Queue",
	0x06: "Identify",
	0x08: "Abort",
	0x09: "Set Features",
	0x0a: "Get Features",
	0x0c: "Asynchronous Event Request",
	0x0d: "Namespace Management",
	0x10: "Firmware Commit",
	0x11: "Firmware Image Download",
	0x14: "Device Self-test",
	0x15: "Namespace Attachment",
	0x18: "Keep Alive",
	0x19: "Directive Send",
	0x1a: "Directive Receive",
	0x1c: "Virtualization Management",
	0x1d: "NVMe-MI Send",
	0x1e: "NVMe-MI Receive",
	0x7c: "Doorbell Buffer Config",
	0x80: "Format NVM",
	0x81: "Security Send",
	0x82: "Security Receive",
	0x84: "Sanitize",
	0x86: "Get LBA Status",
}

// nvmeIONames are the NVM and zoned I/O commands by opcode (NVMe base specification 1.4, figure
// 346; zoned namespaces 1.1).
var nvmeIONames = [256]string{
	0x00: "Flush",
	0x01: "Write",
	0x02: "Read",
	0x04: "Write Uncorrectable",
	0x05: "Compare",
	0x08: "Write Zeroes",
	0x09: "Dataset Management",
	0x0c: "Verify",
	0x0d: "Reservation Register",
	0x0e: "Reservation Report",
	0x11: "Reservation Acquire",
	0x15: "Reservation Release",
	0x19: "Copy",
	0x79: "Zone Management Send",
	0x7a: "Zone Management Receive",
	0x7d: "Zone Append",
}

// nvmeHasLBA tells which I/O commands have SLBA and NLB in command dwords 10 to 12.
var nvmeHasLBA = [256]bool{0x01: true, 0x02: true, 0x04: true, 0x05: true, 0x08: true, 0x0c: true, 0x7d: true}

// nvmeFabricsNames are the Fabrics commands by type (NVMe-oF 1.1, figure 14).
var nvmeFabricsNames = [256]string{
	0x00: "Property Set",
	0x01: "Connect",
	0x04: "Property Get",
	0x05: "Authentication Send",
	0x06: "Authentication Receive",
	0x08: "Disconnect",
}

// nvmeStatus are status values by SCT<<8 | SC (NVMe base specification 1.4 section 4.6.1, NVMe-oF
// 1.1 section 3).
var nvmeStatus = map[uint32]string{
	0x000: "Successful Completion",
	0x001: "Invalid Command Opcode",
	0x002: "Invalid Field in Command",
	0x003: "Command ID Conflict",
	0x004: "Data Transfer Error",
	0x005: "Commands Aborted due to Power Loss Notification",
	0x006: "Internal Error",
	0x007: "Command Abort Requested",
	0x008: "Command Aborted due to SQ Deletion",
	0x009: "Command Aborted due to Failed Fused Command",
	0x00a: "Command Aborted due to Missing Fused Command",
	0x00b: "Invalid Namespace or Format",
	0x00c: "Command Sequence Error",
	0x00d: "Invalid SGL Segment Descriptor",
	0x00e: "Invalid Number of SGL Descriptors",
	0x00f: "Data SGL Length Invalid",
	0x010: "Metadata SGL Length Invalid",
	0x011: "SGL Descriptor Type Invalid",
	0x015: "Operation Denied",
	0x016: "SGL Offset Invalid",
	0x018: "Host Identifier Inconsistent Format",
	0x019: "Keep Alive Timer Expired",
	0x01a: "Keep Alive Timeout Invalid",
	0x01c: "Sanitize Failed",
	0x01d: "Sanitize In Progress",
	0x020: "Namespace is Write Protected",
	0x021: "Command Interrupted",
	0x022: "Transient Transport Error",
	0x080: "LBA Out of Range",
	0x081: "Capacity Exceeded",
	0x082: "Namespace Not Ready",
	0x083: "Reservation Conflict",
	0x084: "Format In Progress",
	0x102: "Invalid Queue Size",
	0x103: "Abort Command Limit Exceeded",
	0x105: "Asynchronous Event Request Limit Exceeded",
	0x109: "Invalid Log Page",
	0x10a: "Invalid Format",
	0x10d: "Feature Identifier Not Saveable",
	0x10e: "Feature Not Changeable",
	0x10f: "Feature Not Namespace Specific",
	0x180: "Incompatible Format",
	0x181: "Controller Busy",
	0x182: "Connect Invalid Parameters",
	0x183: "Connect Restart Discovery",
	0x184: "Connect Invalid Host",
	0x190: "Discovery Restart",
	0x191: "Authentication Required",
	0x280: "Write Fault",
	0x281: "Unrecovered Read Error",
	0x282: "End-to-end Guard Check Error",
	0x283: "End-to-end Application Tag Check Error",
	0x284: "End-to-end Reference Tag Check Error",
	0x285: "Compare Failure",
	0x286: "Access Denied",
	0x287: "Deallocated or Unwritten Logical Block",
	0x300: "Internal Path Error",
	0x301: "Asymmetric Access Persistent Loss",
	0x302: "Asymmetric Access Inaccessible",
	0x303: "Asymmetric Access Transition",
	0x360: "Controller Pathing Error",
	0x370: "Host Pathing Error",
	0x371: "Command Aborted By Host",
}

// nvmeCMStatus are the reject statuses of the RDMA transport (NVMe-oF 1.1, section 7.3.3).
var nvmeCMStatus = map[uint32]string{
	0x01: "Invalid Private Data Length",
	0x02: "Invalid RECFMT",
	0x03: "Invalid QID",
	0x04: "Invalid HSQSIZE",
	0x05: "Invalid HRQSIZE",
	0x06: "No Resources",
	0x07: "Invalid IRD",
	0x08: "Invalid ORD",
}

// nvmeProperties are the controller properties by offset (NVMe-oF 1.1, figure 31).
var nvmeProperties = map[uint64]string{
	0x00: "CAP", 0x08: "VS", 0x14: "CC", 0x1c: "CSTS", 0x20: "NSSR",
}
