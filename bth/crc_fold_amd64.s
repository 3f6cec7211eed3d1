//go:build !purego

#include "textflag.h"

// FOLD moves what acc stands for on by the distance of the constants in by, and adds a block. t is overwritten.
#define FOLD(by, block, acc, t) \
	VPCLMULQDQ $0x00, by, acc, t   \
	VPCLMULQDQ $0x11, by, acc, acc \
	VPTERNLOGQ $0x96, block, t, acc

// func foldWords(by *foldConstants, reg uint32, p *byte, n int) uint32
TEXT ·foldWords(SB), NOSPLIT, $0-36
	MOVQ            by+0(FP), DI
	MOVL            reg+8(FP), AX
	MOVQ            p+16(FP), SI
	MOVQ            n+24(FP), DX
	VBROADCASTI32X4 16(DI), Z6

	// The first block is 4 to 64 bytes, so that full ones follow, behind words of zeroes, which change nothing.
	LEAQ           -1(DX), CX
	ANDQ           $60, CX
	LEAQ           4(SI)(CX*1), SI
	SUBQ           CX, DX
	SHRQ           $2, CX
	XORQ           $15, CX
	MOVL           $0xffff, BX
	SHLL           CX, BX
	KMOVW          BX, K1
	MOVL           $1, BX
	SHLL           CX, BX
	KMOVW          BX, K2
	VMOVDQU32.Z    -64(SI), K1, Z0
	VPBROADCASTD.Z AX, K2, Z4
	VPXORQ         Z4, Z0, Z0
	SUBQ           $452, DX           // CX was 4 less than the block
	JLT            few

	// Four accumulators, each for every fourth block.
	VBROADCASTI32X4 0(DI), Z5
	VMOVDQU64       0(SI), Z1
	VMOVDQU64       64(SI), Z2
	VMOVDQU64       128(SI), Z3
	ADDQ            $192, SI

four:
	FOLD(Z5, 0(SI), Z0, Z8)
	FOLD(Z5, 64(SI), Z1, Z9)
	FOLD(Z5, 128(SI), Z2, Z10)
	FOLD(Z5, 192(SI), Z3, Z11)
	ADDQ $256, SI
	SUBQ $256, DX
	JGE  four
	FOLD(Z6, Z1, Z0, Z8)
	FOLD(Z6, Z2, Z0, Z8)
	FOLD(Z6, Z3, Z0, Z8)
	SUBQ $192, DX

few:
	ADDQ $448, DX
	JEQ  quarters

one:
	FOLD(Z6, 0(SI), Z0, Z8)
	ADDQ $64, SI
	SUBQ $64, DX
	JNE  one

	// Three quarters of the block to the place of the last one, and that to 96 and to 64 bits.
quarters:
	VMOVDQU64     32(DI), Z7
	VPCLMULQDQ    $0x00, Z7, Z0, Z8
	VPCLMULQDQ    $0x11, Z7, Z0, Z9
	VEXTRACTI32X4 $3, Z0, X1
	VPXORQ        Z9, Z8, Z8
	VEXTRACTI64X4 $1, Z8, Y9
	VPXOR         Y9, Y8, Y8
	VEXTRACTI128  $1, Y8, X9
	VPTERNLOGQ    $0x96, X9, X8, X1
	VMOVDQU       64(DI), X7
	VMOVDQU       96(DI), X5
	VMOVDQU       112(DI), X6
	VMOVDQU       128(DI), X3
	VPCLMULQDQ    $0x10, X7, X1, X2
	VPSRLDQ       $8, X1, X1
	VPXOR         X2, X1, X1
	VPSRLDQ       $4, X1, X2
	VPAND         X3, X1, X1
	VPCLMULQDQ    $0x00, X5, X1, X1
	VPXOR         X2, X1, X1

	// Barrett's reduction to 32 bits.
	VPAND      X3, X1, X2
	VPCLMULQDQ $0x10, X6, X2, X2
	VPAND      X3, X2, X2
	VPCLMULQDQ $0x00, X6, X2, X2
	VPXOR      X2, X1, X1
	VPEXTRD    $1, X1, AX
	MOVL       AX, ret+32(FP)
	VZEROUPPER
	RET
