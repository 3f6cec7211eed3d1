//go:build !purego

#include "textflag.h"

// FOLD512 multiplies acc by the constants in by, which moves it ahead by their distance, and
// adds a block. It overwrites t.
#define FOLD512(by, block, acc, t) \
	VPCLMULQDQ $0x00, by, acc, t   \
	VPCLMULQDQ $0x11, by, acc, acc \
	VPTERNLOGQ $0x96, block, t, acc

// FOLD256 is FOLD512 for processors without AVX-512.
#define FOLD256(by, block, acc, t) \
	VPCLMULQDQ $0x00, by, acc, t   \
	VPCLMULQDQ $0x11, by, acc, acc \
	VPXOR      block, t, t         \
	VPXOR      t, acc, acc

// REDUCE reduces the value of X0 to 96 and to 64 bits, and by Barrett reduction to the 32 bits of
// AX. X7 contains the constants for 16 bytes.
#define REDUCE \
	VMOVDQU    96(DI), X5        \
	VMOVDQU    112(DI), X6       \
	VMOVDQU    128(DI), X3       \
	VPCLMULQDQ $0x10, X7, X0, X2 \
	VPSRLDQ    $8, X0, X0        \
	VPXOR      X2, X0, X0        \
	VPSRLDQ    $4, X0, X2        \
	VPAND      X3, X0, X0        \
	VPCLMULQDQ $0x00, X5, X0, X0 \
	VPXOR      X2, X0, X0        \
	VPAND      X3, X0, X2        \
	VPCLMULQDQ $0x10, X6, X2, X2 \
	VPAND      X3, X2, X2        \
	VPCLMULQDQ $0x00, X6, X2, X2 \
	VPXOR      X2, X0, X0        \
	VPEXTRD    $1, X0, AX

// func foldWords512(by *foldConstants, reg, set uint32, head *byte, h int, p *byte, lead, n int) uint32
TEXT ·foldWords512(SB), NOSPLIT, $0-60
	MOVQ            by+0(FP), DI
	MOVQ            head+16(FP), R8
	MOVQ            h+24(FP), R9
	MOVQ            p+32(FP), SI
	MOVQ            lead+40(FP), CX
	MOVQ            n+48(FP), DX
	VBROADCASTI32X4 16(DI), Z6

	// The first block contains the h bytes at head and the first lead bytes at p, at its end, after
	// zero words, which do not change the CRC.
	ADDQ           CX, SI
	SUBQ           CX, DX
	ADDQ           CX, R9
	SUBQ           $64, R9
	ADDQ           R9, R8
	NEGQ           R9
	NEGQ           CX
	ADDQ           $64, CX
	SHRQ           $2, CX
	MOVL           $0xffff, BX
	SHLL           CX, BX
	KMOVW          BX, K1             // words of p
	MOVQ           R9, CX
	SHRQ           $2, CX
	MOVL           $0xffff, AX
	SHLL           CX, AX
	XORL           BX, AX
	KMOVW          AX, K2             // words of head
	MOVL           $1, AX
	SHLL           CX, AX
	KMOVW          AX, K3             // first word
	ADDL           AX, AX
	KMOVW          AX, K4             // second word
	VMOVDQU32.Z    -64(SI), K1, Z0
	VMOVDQU32      0(R8), K2, Z0
	MOVL           set+12(FP), AX
	VPBROADCASTD.Z AX, K4, Z4
	VPORQ          Z4, Z0, Z0
	MOVL           reg+8(FP), AX
	VPBROADCASTD.Z AX, K3, Z4
	VPXORQ         Z4, Z0, Z0
	SUBQ           $448, DX
	JLT            few

	// Four accumulators, each for every fourth block.
	VBROADCASTI32X4 0(DI), Z5
	VMOVDQU64       0(SI), Z1
	VMOVDQU64       64(SI), Z2
	VMOVDQU64       128(SI), Z3
	ADDQ            $192, SI

four:
	FOLD512(Z5, 0(SI), Z0, Z8)
	FOLD512(Z5, 64(SI), Z1, Z9)
	FOLD512(Z5, 128(SI), Z2, Z10)
	FOLD512(Z5, 192(SI), Z3, Z11)
	ADDQ $256, SI
	SUBQ $256, DX
	JGE  four
	FOLD512(Z6, Z1, Z0, Z8)
	FOLD512(Z6, Z2, Z0, Z8)
	FOLD512(Z6, Z3, Z0, Z8)
	SUBQ $192, DX

few:
	ADDQ $448, DX
	JEQ  quarters

one:
	FOLD512(Z6, 0(SI), Z0, Z8)
	ADDQ $64, SI
	SUBQ $64, DX
	JNE  one

	// Fold the first three quarters of the block onto the last.
quarters:
	VMOVDQU64     32(DI), Z7
	VPCLMULQDQ    $0x00, Z7, Z0, Z8
	VPCLMULQDQ    $0x11, Z7, Z0, Z9
	VEXTRACTI32X4 $3, Z0, X0
	VPXORQ        Z9, Z8, Z8
	VEXTRACTI64X4 $1, Z8, Y9
	VPXOR         Y9, Y8, Y8
	VEXTRACTI128  $1, Y8, X9
	VPTERNLOGQ    $0x96, X9, X8, X0
	VMOVDQU       64(DI), X7
	REDUCE
	MOVL          AX, ret+56(FP)
	VZEROUPPER
	RET

// func foldWords256(by *foldConstants, reg uint32, p *byte, n int) uint32
TEXT ·foldWords256(SB), NOSPLIT, $0-36
	MOVQ    by+0(FP), DI
	MOVL    reg+8(FP), AX
	MOVQ    p+16(FP), SI
	MOVQ    n+24(FP), DX
	VMOVDQU 64(DI), X7

	// The first block has 4 to 16 bytes, so that only full blocks follow. Leading zero words, which
	// do not change the CRC, fill it.
	LEAQ    -1(DX), CX
	ANDQ    $12, CX
	VMOVD   AX, X0
	VPXOR   0(SI), X0, X0
	VPSHUFB 164(DI)(CX*1), X0, X0
	LEAQ    4(SI)(CX*1), SI
	SUBQ    CX, DX
	SUBQ    $4, DX
	TESTQ   $16, DX
	JEQ     pairs
	FOLD256(X7, 0(SI), X0, X8)
	ADDQ    $16, SI

pairs:
	ANDQ           $~31, DX
	JEQ            reduce
	VPERM2I128     $0x08, Y0, Y0, Y0
	VBROADCASTI128 48(DI), Y6
	SUBQ           $224, DX
	JLT            few

	// Four accumulators, each for every fourth pair of blocks.
	VBROADCASTI128 144(DI), Y5
	VMOVDQU        0(SI), Y1
	VMOVDQU        32(SI), Y2
	VMOVDQU        64(SI), Y3
	ADDQ           $96, SI

four:
	FOLD256(Y5, 0(SI), Y0, Y8)
	FOLD256(Y5, 32(SI), Y1, Y9)
	FOLD256(Y5, 64(SI), Y2, Y10)
	FOLD256(Y5, 96(SI), Y3, Y11)
	ADDQ $128, SI
	SUBQ $128, DX
	JGE  four
	FOLD256(Y6, Y1, Y0, Y8)
	FOLD256(Y6, Y2, Y0, Y8)
	FOLD256(Y6, Y3, Y0, Y8)
	SUBQ $96, DX

few:
	ADDQ $224, DX
	JEQ  halves

one:
	FOLD256(Y6, 0(SI), Y0, Y8)
	ADDQ $32, SI
	SUBQ $32, DX
	JNE  one

halves:
	VEXTRACTI128 $1, Y0, X2
	FOLD256(X7, X2, X0, X8)

reduce:
	REDUCE
	MOVL AX, ret+32(FP)
	VZEROUPPER
	RET

// func extendedFeatures() uint32
TEXT ·extendedFeatures(SB), NOSPLIT, $0-4
	MOVL $7, AX
	XORL CX, CX
	CPUID
	MOVL CX, ret+0(FP)
	RET
