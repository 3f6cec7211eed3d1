package gorxe_test

import (
	"testing"

	"github.com/gorxe/gorxe"
)

var rdmaCoreMR = map[string]func(*testing.T){
	"test_reg_mr_bad_flags": func(t *testing.T) {
		pd := openPipe(t, 1500, "192.0.2.1").AllocPD()
		for _, access := range []gorxe.Access{gorxe.RemoteWrite, gorxe.RemoteAtomic} {
			_, err := pd.RegMR(make([]byte, 4096), access)
			says(t, err, access.String(), "LOCAL_WRITE")
		}
	},
}
