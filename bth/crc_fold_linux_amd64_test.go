//go:build !purego

package bth

import "testing"

func TestEachUpdateIsTheStandardCRCWithoutAVX512(t *testing.T) {
	defer func(has bool) { canFold512 = has }(canFold512)
	canFold512 = false
	t.Run("each length", TestEachUpdateIsTheStandardCRC)
	t.Run("nothing outside", TestAnUpdateReadsNothingOutsideItsInput)
}
