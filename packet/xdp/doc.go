// Package xdp provides the link over AF_XDP sockets of the Linux kernel.
package xdp
