package transport

import (
	"testing"

	"github.com/gorxe/gorxe/qp"
)

// IBA 9.7.5.1: a responder has resources for max_dest_rd_atomic READs and atomics, so that it can
// answer each of them again.
func TestResponderResources(t *testing.T) {
	runScenarios(t, []scenario{
		{"a repeated answer gives way to a new READ, which tells that it arrived", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			verdict duplicate
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=1 rkey=rw ack
			verdict accepted
			> RDMA_READ_RESPONSE_ONLY psn=102 len=1 syn=ack msn=3`},
		{"more READs than max_dest_rd_atomic at a time are an invalid request (9.7.4.1)", nil, `
			<+ RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			<+ RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=1 rkey=rw ack
			verdict invalid_request
			event QP_REQ_ERR
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			> ACKNOWLEDGE psn=102 syn=inv msn=2
			state ERR`},
		{"only the last max_dest_rd_atomic READs are remembered", nil, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=102 len=1 syn=ack msn=3
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			verdict unknown_duplicate
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2`},
		{"READs and atomics share the responder resources", nil, `
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=8 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=8 syn=ack msn=2
			< RDMA_READ_REQUEST psn=102 va=0x10000 dma=8 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=102 len=8 syn=ack msn=3
			< FETCH_ADD psn=100 va=0x10008 add=5 rkey=rw ack
			verdict unknown_duplicate`},
		{"a READ whose answer has left frees its place for the next",
			func(a *qp.Attr, c *Config) { a.MaxDestRdAtomic = 1 }, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_READ_REQUEST psn=101 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=101 len=1 syn=ack msn=2
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			verdict unknown_duplicate`},
		{"more atomics than max_dest_rd_atomic at a time are an invalid request",
			func(a *qp.Attr, c *Config) { a.MaxDestRdAtomic = 1 }, `
			<+ FETCH_ADD psn=100 va=0x10008 add=1 rkey=rw ack
			< FETCH_ADD psn=101 va=0x10008 add=1 rkey=rw ack
			verdict invalid_request
			event QP_REQ_ERR
			> ATOMIC_ACKNOWLEDGE psn=100 syn=ack msn=1 value=0
			> ACKNOWLEDGE psn=101 syn=inv msn=1
			state ERR`},
		{"WRITEs and SENDs take no resource", func(a *qp.Attr, c *Config) { a.MaxDestRdAtomic = 1 }, `
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1
			< RDMA_WRITE_ONLY psn=101 len=0
			< RDMA_WRITE_ONLY psn=102 len=0
			< RDMA_READ_REQUEST psn=100 va=0x10000 dma=1 rkey=rw ack
			verdict duplicate
			> RDMA_READ_RESPONSE_ONLY psn=100 len=1 syn=ack msn=1`},
	})
}
