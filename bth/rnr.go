package bth

// rnrDelays has the delay for each value of the RNR NAK timer field, in units of 10 microseconds
// (IBA 9.7.5.2.8, table 45).
var rnrDelays = [32]int32{
	65536, 1, 2, 3, 4, 6, 8, 12,
	16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072,
	4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

// RNRDelay returns how many nanoseconds a requester waits after an RNR NAK with the given timer
// code: 10 microseconds (code 1) to 655.36 milliseconds (code 0). It ignores all except the
// lower five bits of code.
func RNRDelay(code uint8) int64 { return int64(rnrDelays[code&syndromeCode]) * 10_000 }
