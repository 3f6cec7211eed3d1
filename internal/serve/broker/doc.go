// Package broker forwards the trapped calls of unmodified programs from 'gorxe run' to the daemon
// that owns the device.
//
// A [Client] runs in 'gorxe run': it forwards opens, ioctls and writes of a program, installs the
// descriptors that it gets back, and tells the server which of them the program uses. A [Server]
// executes the calls, with a [Service] for each device file. Each 'gorxe run' has one Unix socket
// of type SOCK_SEQPACKET, with one message per call and per answer; descriptors are passed as
// SCM_RIGHTS. All messages have the same header (frame.go). A table defines, for each kind, the
// side that sends it, its fields, the length of its data and the number of descriptors. A message
// that violates a rule ends the connection.
//
//	client                             server
//	HELLO version, request       →
//	                             ←     WELCOME description of the device, or REFUSED reason
//	OPEN call, process, file     →     with /proc/PID and its mem and maps
//	                             ←     REPLY call, object              with the ring file
//	CALL call, object, arguments →
//	                             ←     INSTALL call, object            with its file; any number
//	INSTALLED call, descriptor   →
//	                             ←     FIND call, descriptor           any number
//	FOUND call, object           →
//	                             ←     REPLY call, result
//	CANCEL call                  →     the caller got a signal: the call should end soon
//	RELEASE object               →     the program did not get it
//	EXIT process                 →
//	EXEC call, process           →     the process is about to execute another program;
//	                                   process 0, which never exists: a ping
//	                             ←     REPLY call                      its memory is no longer
//	                                                                   copied by PID
//	                             ←     ENDED object                    it is no longer valid
//	                             ←     CHANGED description
//
// Memory is not transferred: OPEN passes /proc/PID/mem, which the client may open and the server
// may not. The server verifies that it is such a file (verify_linux.go).
//
// # Trust
//
// The server does not trust the client. A number from a client can only name an object or call of
// that client. [Limits] limits the resources of each client, of each user and of all. A
// connection has one goroutine that reads and one per call in progress; a send waits at most
// [Config.Patience], so a client that does not read is disconnected and delays no other. When a
// connection ends, all its objects end.
//
// # Locks
//
// A session's mu guards its tables of processes, objects and calls; the quota has its own lock,
// which is never held while another is acquired.
package broker
