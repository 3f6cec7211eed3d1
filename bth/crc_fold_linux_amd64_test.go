//go:build !purego

package bth

import "testing"

func TestEachUpdateIsTheStandardCRCWithoutAVX512(t *testing.T) {
	if !canFold512 {
		t.Skip("this processor has no AVX-512: the other tests fold without it")
	}
	canFold512 = false
	defer func() { canFold512 = true }()
	t.Run("each length", TestEachUpdateIsTheStandardCRC)
	t.Run("nothing outside", TestAnUpdateReadsNothingOutsideItsInput)
}
