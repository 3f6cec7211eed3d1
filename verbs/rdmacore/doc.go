// Package rdmacore has no code: its tests do with package verbs what rdma-core's own tests do with libibverbs, and a
// table says which of those have a counterpart.
package rdmacore
