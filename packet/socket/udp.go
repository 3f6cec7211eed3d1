package socket

// UDPOptions are the choices there are for [ListenUDP]. The zero value is right for most.
type UDPOptions struct {
	// ReceiveBuffer and SendBuffer are the socket buffers asked for, in bytes. 0 asks for 32 MiB and 1 MiB. The host may
	// give less: net.core.rmem_max and wmem_max bound what a process without CAP_NET_ADMIN gets.
	ReceiveBuffer, SendBuffer int
	// NoGSO sends every frame as a datagram of its own, NoGRO takes in every datagram by itself.
	NoGSO, NoGRO bool
}
