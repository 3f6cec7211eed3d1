// Package rdmacore contains only tests: they do with package verbs what rdma-core's own tests do
// with libibverbs. A table lists which of those have a counterpart here.
package rdmacore
