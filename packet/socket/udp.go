package socket

// UDPOptions configure [ListenUDP]. The zero value is usable.
type UDPOptions struct {
	// ReceiveBuffer and SendBuffer are the requested sizes of the socket buffers in bytes; 0
	// means 32 MiB and 1 MiB. Without CAP_NET_ADMIN the host limits them to net.core.rmem_max and
	// wmem_max.
	ReceiveBuffer, SendBuffer int
	// NoGSO sends every frame as a separate datagram; NoGRO receives every datagram separately.
	NoGSO, NoGRO bool
}
