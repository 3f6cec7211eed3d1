// Package programs runs unmodified RDMA programs on a device of package verbs: libibverbs, its rxe provider and
// librdmacm find a device where the kernel has none.
//
// A [Host] renders the files of sysfs that describe the device, and answers what package trap takes from the programs:
// opens of the device files, ioctls, which package uverbs executes, and commands of rdma_cm, which package ucma
// executes.
package programs
