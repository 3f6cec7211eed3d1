package procmem

import "os"

// Files holds the descriptors of one process. A supervisor gets them from [OpenFiles], or opens
// them itself, and passes them to the process that calls [New].
type Files struct {
	// Mem is /proc/PID/mem, opened for reading and writing.
	Mem *os.File
	// Maps is /proc/PID/maps, opened after Mem. A supervisor that answers seccomp notifications
	// opens both while the program waits for an answer and then checks that the notification is
	// still valid (SECCOMP_IOCTL_NOTIF_ID_VALID): this excludes an execve between the two.
	Maps *os.File
	// Pidfd is a pidfd of the process, or nil. [AddressSpace.State] needs it to distinguish a
	// process that has ended from a process that has executed another program.
	Pidfd *os.File
}

// Close closes all files. Nil files are skipped.
func (f *Files) Close() error {
	var first error
	for _, file := range []*os.File{f.Mem, f.Maps, f.Pidfd} {
		if file == nil {
			continue
		}
		if err := file.Close(); err != nil && first == nil {
			first = err
		}
	}
	return first
}
