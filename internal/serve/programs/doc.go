// Package programs runs unmodified RDMA programs on a device of package verbs: libibverbs, its
// rxe provider and librdmacm find a device that the kernel does not have.
//
// A [Host] renders the sysfs files that describe the device, and answers the calls of programs that
// package trap intercepts: opens of the device files, ioctls, which package uverbs executes, and
// commands of rdma_cm, which package ucma executes. A Host of [NewRemoteHost] forwards the calls to
// a daemon instead. The mutex of the Host guards its tables of opens, processes and channels.
package programs
