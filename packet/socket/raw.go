package socket

// RawOptions are the choices there are for [ListenRaw]. The zero value is right for most.
type RawOptions struct {
	// ReceiveBuffer and SendBuffer are as in [UDPOptions].
	ReceiveBuffer, SendBuffer int
	// NoGSO sends every frame as a datagram of its own.
	NoGSO bool
}
