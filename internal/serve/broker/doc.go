// Package broker carries the trapped calls of unmodified programs from 'gorxe run' to the daemon that owns the device.
//
// A [Client] is on the side of the program: it passes opens, ioctls and writes on, installs the descriptors that come
// back, and tells which of them the program names. A [Server] executes the calls by a [Service] for each device file.
// Both sides speak over one Unix socket of type SOCK_SEQPACKET for each 'gorxe run': one message for each call and each
// answer, with descriptors as SCM_RIGHTS. Every message has the same header (frame.go); a table says for each kind
// which side sends it, which fields it has, how long its data and how many descriptors there may be. A message that
// breaks a rule ends the connection.
//
//	client                             server
//	HELLO version, request       →
//	                             ←     WELCOME description of the device, or REFUSED why
//	OPEN call, process, file + 3 →
//	                             ←     REPLY call, object + ring file
//	CALL call, object, arguments →
//	                             ←     INSTALL call, object + file      any number of times
//	INSTALLED call, descriptor   →
//	                             ←     FIND call, descriptor            any number of times
//	FOUND call, object           →
//	                             ←     REPLY call, result
//	CANCEL call                  →     a signal came for the caller: the call is to end soon
//	RELEASE object               →     the program did not get it
//	EXIT process                 →
//	EXEC call, process           →     the process is going to execute another program
//	                             ←     REPLY: its memory is not copied by its number any more; for process 0,
//	                                   which nobody has: the server is there
//	                             ←     ENDED object                     it means nothing any more
//	                             ←     CHANGED description
//
// Memory is not carried: OPEN passes /proc/PID/mem, which the client may open and the server need not. The server
// verifies that it is such a file (verify_linux.go).
//
// # Trust
//
// The server takes the client for hostile. Numbers that a client sends are looked up among what the server has given to
// that client. [Limits] bound what each client, each user and all of them have. A connection has a goroutine that reads
// and one for each call under way; a send waits at most [Config.Patience], so a client that does not read is
// disconnected and makes nobody else wait. When a connection ends, all its objects end.
package broker
