package socket

// RawOptions configure [ListenRaw]. The zero value is usable.
type RawOptions struct {
	// ReceiveBuffer and SendBuffer are the same as in [UDPOptions].
	ReceiveBuffer, SendBuffer int
	// NoGSO sends every frame as a separate datagram.
	NoGSO bool
}
