// Package wire is the protocol between the lab on the host and the agent in the virtual machine:
// [Frame] values of many streams over one byte stream, a virtio-serial port.
//
// The host opens a stream by sending Start, Put, Read or Send with an unused stream number. Every
// stream ends with exactly one Exit from the guest. The first frame of the guest is Hello on
// stream 0.
package wire

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Names that both sides use.
const (
	PortName  = "gorxe.rxelab" // virtio-serial port of the frames
	HostTag   = "host"         // mount tag of the host's root
	ModuleDir = "/modules"     // in the initramfs: kernel modules, loaded in the order of their names
)

// MaxData is the maximum payload of one frame in bytes.
const MaxData = 64 << 10

const headerLen = 9

// Kind is the kind of a frame.
type Kind uint8

// The kinds of frames; the comments give the sender and the payload.
const (
	Hello  Kind = iota + 1 // guest: Info
	Start                  // host: Command
	Ready                  // guest: empty; the command listens on its ListenPort
	Stdout                 // guest: bytes
	Stderr                 // guest: bytes
	Signal                 // host: one byte, the signal number, for the whole process group
	Put                    // host: File; Data and End follow
	Data                   // host: bytes of the file
	End                    // host: empty
	Read                   // host: []string, the paths; Stdout carries a JSON map of path to content
	Send                   // host: Datagram
	Exit                   // guest: Result
)

// Frame is one message on one stream.
type Frame struct {
	Stream uint32
	Kind   Kind
	Data   []byte
}

// Info is the greeting of the guest when it is ready for commands.
type Info struct {
	Kernel   string        // release, as uname -r prints it
	Uptime   time.Duration // time since the kernel started
	Warnings []string      // non-fatal problems during boot
}

// Command is a program to run in the guest.
type Command struct {
	Argv    []string
	Netns   string        // name of a network namespace; empty: the initial one
	Timeout time.Duration // time after which the process group is killed; 0: never
	// ListenPort is a TCP port. When the command listens on it, the guest sends Ready. 0: none.
	ListenPort int
}

// File is the header of a file that the host writes to the guest.
type File struct {
	Path string
	Mode uint32
}

// Datagram is a UDP datagram for the guest to send.
type Datagram struct {
	Netns string // as in Command
	To    string // address:port
	Data  []byte
}

// Result is the end of a stream. Code is the exit status, or -1 if a signal ended the process or
// it never ran.
type Result struct {
	Code     int
	Signal   string `json:",omitempty"`
	TimedOut bool   `json:",omitempty"`
	Err      string `json:",omitempty"` // why the request could not be carried out
}

// Write writes one frame with a single Write call. It returns an error if the payload is longer
// than MaxData.
func Write(w io.Writer, f Frame) error {
	if len(f.Data) > MaxData {
		return fmt.Errorf("frame of %d bytes: the limit is %d", len(f.Data), MaxData)
	}
	b := make([]byte, headerLen, headerLen+len(f.Data))
	binary.BigEndian.PutUint32(b, f.Stream)
	b[4] = byte(f.Kind)
	binary.BigEndian.PutUint32(b[5:], uint32(len(f.Data)))
	_, err := w.Write(append(b, f.Data...))
	return err
}

// WriteJSON writes one frame with v as JSON payload.
func WriteJSON(w io.Writer, stream uint32, k Kind, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return Write(w, Frame{Stream: stream, Kind: k, Data: b})
}

// ReadFrame reads one frame. The caller owns its Data.
func ReadFrame(r io.Reader) (Frame, error) {
	var h [headerLen]byte
	if _, err := io.ReadFull(r, h[:]); err != nil {
		return Frame{}, err
	}
	n := binary.BigEndian.Uint32(h[5:])
	if n > MaxData {
		return Frame{}, fmt.Errorf("frame announces %d bytes: the limit is %d, the stream is out of step", n, MaxData)
	}
	f := Frame{Stream: binary.BigEndian.Uint32(h[:]), Kind: Kind(h[4]), Data: make([]byte, n)}
	if _, err := io.ReadFull(r, f.Data); err != nil {
		return Frame{}, fmt.Errorf("frame of %d bytes cut short: %w", n, err)
	}
	return f, nil
}
