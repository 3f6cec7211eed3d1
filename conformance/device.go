package conformance

import (
	"context"
	"errors"
	"net/netip"

	"github.com/gorxe/gorxe/bth"
)

// Device is the device under test.
type Device interface {
	// Open starts a program, or waits for it to be started, and performs its handshake: the
	// program's queue pair is then connected to the tester's, which local describes. For a client
	// program, the handshake is that of a server. RPing and CMServer are only started: T
	// connects to them with rdma_cm at Target.Port.
	//
	// The error is ErrUnsupported if the device cannot run the program.
	Open(ctx context.Context, p Program, local Local) (Peer, error)
}

// ErrUnsupported is the error of a program that the device cannot run.
var ErrUnsupported = errors.New("the device does not support this program")

// Local describes the tester's queue pair.
type Local struct {
	Addr   netip.Addr
	QPN    bth.QPN
	PSN    bth.PSN // first PSN of its requests
	RKey   uint32  // of the memory that it offers
	VA     uint64
	Length uint64
	// Reads is the number of READs and atomics of the device that the tester executes at a time.
	Reads uint8
	// AckTimeout, Retries and RNRRetries are the parameters of the device's requests, where the
	// tester determines them: with rdma_cm all, with clients of perftest AckTimeout only. The
	// timeout is 4.096 µs * 2^AckTimeout, 1 to 31.
	AckTimeout, Retries, RNRRetries uint8
}

// Peer is a program of the device, connected to the tester.
type Peer interface {
	Target() Target
	// Go lets a client program begin its traffic. It is called once, when the script is ready.
	Go() error
	// Output returns what the program has printed so far, of a long text the end. Nothing in it is
	// trusted.
	Output() string
	// Close ends the program.
	Close() error
}

// Target describes the queue pair of a program. Values that the program does not tell are 0.
type Target struct {
	Addr   netip.Addr
	QPN    bth.QPN
	PSN    bth.PSN // first PSN of its requests
	Port   uint16  // of rdma_cm, at which RPing and CMServer listen; they have no queue pair yet
	RKey   uint32
	VA     uint64
	Length uint64 // bytes of its region
	MTU    int    // path MTU in bytes
	QKey   uint32 // of a UD queue pair
	// Receives is the number of receives that are posted, and ReceiveLen their length in bytes.
	Receives   int
	ReceiveLen int
}
