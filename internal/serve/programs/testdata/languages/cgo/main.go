// Eight goroutines of a program with cgo each open the device and register memory.
package main

/*
#cgo LDFLAGS: -libverbs
#include <stdlib.h>
#include <infiniband/verbs.h>
*/
import "C"

import (
	"fmt"
	"os"
	"sync"
)

func main() {
	var work sync.WaitGroup
	for range 8 {
		work.Go(look)
	}
	work.Wait()
	fmt.Println("memory was registered")
}

// look opens the device, registers memory and releases both. Each goroutine in it has its own
// thread.
func look() {
	var n C.int
	list := C.ibv_get_device_list(&n)
	if list == nil || n != 1 {
		fail("%d devices", n)
	}
	defer C.ibv_free_device_list(list)
	c := C.ibv_open_device(*list)
	if c == nil {
		fail("the device cannot be opened")
	}
	var attr C.struct_ibv_device_attr
	if C.ibv_query_device(c, &attr) != 0 || attr.phys_port_cnt != 1 {
		fail("%d ports", attr.phys_port_cnt)
	}
	const size = 1 << 16
	buf := C.malloc(size)
	defer C.free(buf)
	pd := C.ibv_alloc_pd(c)
	mr := C.ibv_reg_mr_iova2(pd, buf, size, C.uint64_t(uintptr(buf)), C.IBV_ACCESS_LOCAL_WRITE)
	if mr == nil || C.ibv_dereg_mr(mr) != 0 || C.ibv_dealloc_pd(pd) != 0 || C.ibv_close_device(c) != 0 {
		fail("memory cannot be registered")
	}
}

func fail(format string, args ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", args...)
	os.Exit(1)
}
