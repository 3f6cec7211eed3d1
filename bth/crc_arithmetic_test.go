package bth

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func TestUpdateSmallIsTheStandardCRC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "b")
		crc := rapid.Uint32().Draw(t, "crc")
		if got, want := updateSmall(crc, b), crc32.Update(crc, crc32.IEEETable, b); got != want {
			t.Errorf("updateSmall = %#08x, want %#08x", got, want)
		}
	})
}

func TestEachUpdateIsTheStandardCRC(t *testing.T) {
	// The longest input ends at the end of the buffer.
	const most = 9000
	buffer := make([]byte, most+63)
	rand.NewChaCha8([32]byte{}).Read(buffer)
	for n := range most + 1 {
		b, crc := buffer[n%64:][:n], uint32(n)*0x9e3779b9
		want := crc32.Update(crc, crc32.IEEETable, b)
		got := map[string]uint32{"update": update(crc, b)}
		if n >= 64 {
			got["updateStandard"] = updateStandard(crc, b)
		}
		if canFold && n >= 16 {
			got["updateFolded"] = updateFolded(crc, b)
		}
		for f, got := range got {
			if got != want {
				t.Fatalf("%s of %d bytes = %#08x, want %#08x", f, n, got, want)
			}
		}
	}
}

func TestPolynomialArithmetic(t *testing.T) {
	const x = polyOne >> 1
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := rapid.Uint32().Draw(t, "a"), rapid.Uint32().Draw(t, "b"), rapid.Uint32().Draw(t, "c")
		if got := mulPoly(a, polyOne); got != a {
			t.Errorf("%#x * 1 = %#x", a, got)
		}
		if mulPoly(a, b) != mulPoly(b, a) {
			t.Errorf("%#x * %#x does not commute", a, b)
		}
		if mulPoly(a, b^c) != mulPoly(a, b)^mulPoly(a, c) {
			t.Errorf("%#x * (%#x + %#x) does not distribute", a, b, c)
		}
		n := rapid.IntRange(0, 1<<16).Draw(t, "n")
		if got := divX(powX(n + 1)); got != powX(n) {
			t.Errorf("x^%d / x = %#x, want %#x", n+1, got, powX(n))
		}
		if got := mulPoly(divX(a), x); got != a {
			t.Errorf("%#x / x * x = %#x", a, got)
		}
	})
}

func TestDivideByPowerUndoesAppendedZeroes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.Uint32().Draw(t, "a")
		n := rapid.OneOf(rapid.IntRange(0, 100), rapid.IntRange(inverseStep-2, inverseStep+2),
			rapid.IntRange(0, 1<<16)).Draw(t, "n")
		// n zero bytes multiply the register by x^8n.
		register := ^crc32.Update(^a, crc32.IEEETable, make([]byte, n))
		if got := divideByPower(register, n); got != a {
			t.Errorf("%#x * x^8*%d / x^8*%d = %#x", a, n, n, got)
		}
	})
}

// In datagrams of up to 9000 bytes, the error of a single bit after the identification differs
// from every error of the identification: SolveID rejects all of them.
func TestNoSingleBitErrorLooksLikeAnIdentification(t *testing.T) {
	v := polyOne
	for k := 1; k <= 8*9000; k++ {
		if v = divX(v); v&0xffff == 0 {
			t.Errorf("the bit %d behind the identification looks like %#04x", k, v>>16)
		}
	}
}
