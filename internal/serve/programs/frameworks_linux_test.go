//go:build linux && (amd64 || arm64)

package programs

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorxe/gorxe/verbs"
)

// bytesSent returns the number of bytes that a device has sent.
func bytesSent(d *verbs.Device) uint64 { return d.Counters()["tx_bytes"] }

// requireSent fails if the device has sent less than least bytes since before: without RDMA a
// framework falls back to TCP.
func requireSent(t *testing.T, d *verbs.Device, before, least uint64) {
	t.Helper()
	if sent := bytesSent(d) - before; sent < least {
		t.Errorf("the device has sent %d bytes, less than %d", sent, least)
	}
}

// ucxEnv returns variables that make UCX use the device, with one kind of queue pairs.
func ucxEnv(transport string) string {
	return "env UCX_NET_DEVICES=rxe0:1 UCX_IB_GID_INDEX=0 UCX_TLS=" + transport + ",self"
}

func TestUCXFindsTheDevice(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		h := w.hostOn(t, "127.55.15.6")
		out := start(t, h, "ucx_info -d").wait()
		for _, want := range []string{"Transport: rc_verbs", "Transport: ud_verbs", "Device: rxe0:1"} {
			if !strings.Contains(out, want) {
				t.Errorf("ucx_info lacks %q:\n%s", want, out)
			}
		}
	})
}

func TestUCXExchangesMessagesOnOneHost(t *testing.T) {
	port := 21700
	eachWay(t, func(t *testing.T, w way) {
		require(t, "ucx_perftest")
		h, dev := w.deviceOn(t, "127.55.15.7")
		for _, transport := range []string{"rc", "ud"} {
			for _, test := range []string{"tag_bw", "tag_lat", "ucp_am_bw", "ucp_put_bw", "ucp_get"} {
				t.Run(transport+" "+test, func(t *testing.T) {
					before := bytesSent(dev)
					var line string
					var s *running
					err := errors.New("no port")
					// The port may be that of a connection that has just ended.
					for try := 0; try < 3 && err != nil; try++ {
						port++
						line = ucxEnv(transport) + " ucx_perftest -p " + strconv.Itoa(port)
						s = start(t, h, line)
						ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Second,
							errors.New("it does not listen"))
						err = awaitTCP(ctx, port)
						cancel()
					}
					if err != nil {
						t.Fatalf("%v\n%s", err, s.text())
					}
					if out := start(t, h,
						line+" 127.0.0.1 -s 4096 -n 200 -w 10 -t "+test).wait(); !strings.Contains(out, "Final:") {
						t.Error(out)
					}
					s.wait()
					requireSent(t, dev, before, 200*4096)
				})
			}
		}
	})
}

func TestMPIRanksAddTheirArrays(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		run := func(t *testing.T, h server, dev *verbs.Device, ranks int, line string) {
			before := bytesSent(dev)
			out := start(t, h, line).wait()
			if got := strings.Count(out, "has the sum"); got != ranks {
				t.Errorf("%d of %d ranks have the sum:\n%s", got, ranks, out)
			}
			requireSent(t, dev, before, uint64(ranks)<<20)
		}
		t.Run("OpenMPI", func(t *testing.T) {
			require(t, "mpirun.openmpi")
			h, dev := w.deviceOn(t, "127.55.15.8")
			for _, ranks := range []int{2, 4} {
				run(t, h, dev, ranks,
					ucxEnv("rc")+
						" mpirun.openmpi --allow-run-as-root --oversubscribe --mca pml ucx --mca btl ^openib,ofi -np "+
						strconv.Itoa(ranks)+" /usr/bin/python3 testdata/frameworks/allreduce.py")
			}
		})
		t.Run("MPICH", func(t *testing.T) {
			require(t, "mpirun.mpich")
			require(t, "mpicc.mpich")
			program := filepath.Join(t.TempDir(), "allreduce")
			if out, err := exec.Command("mpicc.mpich", "-o", program,
				"testdata/frameworks/allreduce.c").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			h, dev := w.deviceOn(t, "127.55.15.9")
			for _, ranks := range []int{2, 4} {
				run(t, h, dev, ranks, ucxEnv("rc")+" mpirun.mpich -np "+strconv.Itoa(ranks)+" "+program)
			}
		})
	})
}

func TestPyTorchSendsTensorsByRPC(t *testing.T) {
	eachWay(t, func(t *testing.T, w way) {
		if exec.Command("/usr/bin/python3", "-c", "import torch.distributed.rpc").Run() != nil {
			t.Skip("python3-torch is not installed")
		}
		h, dev := w.deviceOn(t, "127.55.15.10")
		before := bytesSent(dev)
		line := "env TP_SOCKET_IFNAME=lo GLOO_SOCKET_IFNAME=lo /usr/bin/python3 testdata/frameworks/rpc.py 21799 "
		second := start(t, h, line+"1")
		if out := start(t, h, line+"0").wait(); !strings.Contains(out, "the tensors came back") {
			t.Error(out)
		}
		second.wait()
		requireSent(t, dev, before, 6*4<<20)
	})
}

// require skips the test if a program is not installed.
func require(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		t.Skipf("%s is not installed", program)
	}
}
