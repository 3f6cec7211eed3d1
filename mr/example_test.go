package mr_test

import (
	"fmt"

	"github.com/gorxe/gorxe/mr"
)

// A responder resolves the key of a request, checks the access and writes.
func Example() {
	pd := &mr.PD{ID: 1}
	table := mr.NewTable([32]byte{0}, 100) // a random seed, where peers are not trusted
	buf := make([]byte, 16)
	region, err := table.Register(pd, mr.Bytes(buf), 0x10000, 16, mr.LocalWrite|mr.RemoteWrite)
	if err != nil {
		fmt.Println(err)
		return
	}

	const addr, payload = 0x10004, "hello"
	r := table.Lookup(region.RKey())
	if fault := r.Check(pd, addr, uint64(len(payload)), mr.RemoteWrite); fault != mr.OK {
		fmt.Println(fault)
		return
	}
	if err := r.WriteFinal(addr, []byte(payload)); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%q\n", buf[4:9])
	fmt.Println(r.Check(pd, addr, 100, mr.RemoteWrite))
	// Output:
	// "hello"
	// out of the memory region's bounds
}

func ExampleTable_Register() {
	table := mr.NewTable([32]byte{0}, 100)
	_, err := table.Register(&mr.PD{}, mr.Bytes(make([]byte, 16)), 0, 16, mr.RemoteWrite)
	fmt.Println(err)
	// Output:
	// mr: access REMOTE_WRITE requires LOCAL_WRITE; add it
}
