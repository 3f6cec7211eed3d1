package uapi

import "errors"

// Errno is a Linux error number, as on amd64 and arm64. A system call returns it negated.
type Errno uint16

const (
	EPERM           Errno = 1
	ENOENT          Errno = 2
	EINTR           Errno = 4
	EIO             Errno = 5
	EBADF           Errno = 9
	EAGAIN          Errno = 11
	ENOMEM          Errno = 12
	EACCES          Errno = 13
	EFAULT          Errno = 14
	EBUSY           Errno = 16
	EEXIST          Errno = 17
	ENODEV          Errno = 19
	EINVAL          Errno = 22
	ENFILE          Errno = 23
	EMFILE          Errno = 24
	ENOTTY          Errno = 25
	ENOSPC          Errno = 28
	ENOSYS          Errno = 38
	ENODATA         Errno = 61
	EPROTO          Errno = 71
	EMSGSIZE        Errno = 90
	EPROTONOSUPPORT Errno = 93
	EOPNOTSUPP      Errno = 95
	EAFNOSUPPORT    Errno = 97
	EADDRINUSE      Errno = 98
	EADDRNOTAVAIL   Errno = 99
	ENETUNREACH     Errno = 101
	ECONNRESET      Errno = 104
	EISCONN         Errno = 106
	ENOTCONN        Errno = 107
	ETIMEDOUT       Errno = 110
	ECONNREFUSED    Errno = 111
	EHOSTUNREACH    Errno = 113
)

var errnos = names[Errno]{headerErrno, []name[Errno]{
	{"EPERM", EPERM},
	{"ENOENT", ENOENT},
	{"EINTR", EINTR},
	{"EIO", EIO},
	{"EBADF", EBADF},
	{"EAGAIN", EAGAIN},
	{"ENOMEM", ENOMEM},
	{"EACCES", EACCES},
	{"EFAULT", EFAULT},
	{"EBUSY", EBUSY},
	{"EEXIST", EEXIST},
	{"ENODEV", ENODEV},
	{"EINVAL", EINVAL},
	{"ENFILE", ENFILE},
	{"EMFILE", EMFILE},
	{"ENOTTY", ENOTTY},
	{"ENOSPC", ENOSPC},
	{"ENOSYS", ENOSYS},
	{"ENODATA", ENODATA},
	{"EPROTO", EPROTO},
	{"EMSGSIZE", EMSGSIZE},
	{"EPROTONOSUPPORT", EPROTONOSUPPORT},
	{"EOPNOTSUPP", EOPNOTSUPP},
	{"EAFNOSUPPORT", EAFNOSUPPORT},
	{"EADDRINUSE", EADDRINUSE},
	{"EADDRNOTAVAIL", EADDRNOTAVAIL},
	{"ENETUNREACH", ENETUNREACH},
	{"ECONNRESET", ECONNRESET},
	{"EISCONN", EISCONN},
	{"ENOTCONN", ENOTCONN},
	{"ETIMEDOUT", ETIMEDOUT},
	{"ECONNREFUSED", ECONNREFUSED},
	{"EHOSTUNREACH", EHOSTUNREACH},
}}

// String returns the kernel's name of the value.
func (e Errno) String() string { return errnos.one(e) }

// Error returns the name of the error number.
func (e Errno) Error() string { return e.String() }

// ErrnoOf returns the error number that err wraps: 0 for nil, EIO if there is none.
func ErrnoOf(err error) Errno {
	if err == nil {
		return 0
	}
	var e Errno
	if errors.As(err, &e) {
		return e
	}
	return EIO
}
