// Package programs runs unmodified RDMA programs on a device of package verbs: libibverbs and its rxe provider find a
// device where the kernel has none.
//
// A [Host] renders the files of sysfs that describe the device, and answers what package trap takes from the programs: opens
// of the device file, and ioctls on it, which package uverbs executes.
package programs
