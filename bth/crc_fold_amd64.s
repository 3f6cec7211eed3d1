//go:build !purego

#include "textflag.h"

// FOLD moves what acc stands for on by the distance of the constants in by, and adds a block. t is overwritten.
#define FOLD(by, block, acc, t) \
	VPCLMULQDQ $0x00, by, acc, t   \
	VPCLMULQDQ $0x11, by, acc, acc \
	VPTERNLOGQ $0x96, block, t, acc

// func foldBlocks(by *foldConstants, reg uint32, p *byte, n int) (lo, hi uint64)
TEXT ·foldBlocks(SB), NOSPLIT, $0-48
	MOVQ            by+0(FP), DI
	MOVL            reg+8(FP), AX
	MOVQ            p+16(FP), SI
	MOVQ            n+24(FP), CX
	VBROADCASTI32X4 0(DI), Z5          // distances of 256,
	VBROADCASTI32X4 16(DI), Z6         // 64
	VMOVDQU         32(DI), X7         // and 16 bytes
	VMOVD           AX, X4
	VPXORQ          0(SI), Z4, Z0
	VMOVDQU64       64(SI), Z1
	VMOVDQU64       128(SI), Z2
	VMOVDQU64       192(SI), Z3
	ADDQ            $256, SI
	SUBQ            $512, CX
	JLT             join

four:
	FOLD(Z5, 0(SI), Z0, Z8)
	FOLD(Z5, 64(SI), Z1, Z9)
	FOLD(Z5, 128(SI), Z2, Z10)
	FOLD(Z5, 192(SI), Z3, Z11)
	ADDQ $256, SI
	SUBQ $256, CX
	JGE  four

join:
	FOLD(Z6, Z1, Z0, Z8)
	FOLD(Z6, Z2, Z0, Z8)
	FOLD(Z6, Z3, Z0, Z8)
	ADDQ $192, CX
	JLT  last

one:
	FOLD(Z6, 0(SI), Z0, Z8)
	ADDQ $64, SI
	SUBQ $64, CX
	JGE  one

last:
	VEXTRACTI32X4 $1, Z0, X1
	VEXTRACTI32X4 $2, Z0, X2
	VEXTRACTI32X4 $3, Z0, X3
	FOLD(X7, X1, X0, X8)
	FOLD(X7, X2, X0, X8)
	FOLD(X7, X3, X0, X8)
	VMOVQ         X0, lo+32(FP)
	VPEXTRQ       $1, X0, hi+40(FP)
	VZEROUPPER
	RET
