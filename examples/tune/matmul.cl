/* SPDX-License-Identifier: BSD-2-Clause */
/* C = A * B for square matrices of floats, row by row in memory: each work-item makes WORK elements of a row
 * of C; with STAGE the work-group first brings TILE x TILE pieces of A and B into local memory, so that each
 * number is read from global memory TILE times less often. */
//@tune param TILE=8,16,32
//@tune param WORK=1,2,4,8
//@tune param STAGE=0,1
//@tune restrict TILE%WORK==0
//@tune restrict N%TILE==0
//@tune restrict TILE*TILE/WORK<=MAXWG
//@tune restrict !STAGE||8*TILE*TILE<=LMEM
//@tune define N=256
//@tune global N/WORK,N
//@tune local TILE/WORK,TILE
//@tune arg random:f32:N*N
//@tune arg random:f32:N*N
//@tune arg out:f32:N*N
//@tune arg int:N
//@tune flops 2.0*N*N*N
#ifndef TILE
#define TILE 8 /* elements of C along a side of a work-group's square */
#endif
#ifndef WORK
#define WORK 1 /* elements of C per work-item */
#endif
#ifndef STAGE
#define STAGE 0 /* 1: through local memory */
#endif
#define STEP (TILE / WORK)

kernel void matmul(global const float *a, global const float *b, global float *c, int n)
{
    int x = get_local_id(0), y = get_local_id(1);
    int column = get_group_id(0) * TILE + x, row = get_group_id(1) * TILE + y;
    float sum[WORK];
    for (int w = 0; w < WORK; w++)
        sum[w] = 0;
#if STAGE
    local float piece_a[TILE][TILE], piece_b[TILE][TILE];
    for (int t = 0; t < n; t += TILE) {
        for (int w = 0; w < WORK; w++) {
            piece_a[y][x + w * STEP] = a[row * n + t + x + w * STEP];
            piece_b[y][x + w * STEP] = b[(t + y) * n + column + w * STEP];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < TILE; k++)
            for (int w = 0; w < WORK; w++)
                sum[w] += piece_a[y][k] * piece_b[k][x + w * STEP];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
#else
    for (int k = 0; k < n; k++)
        for (int w = 0; w < WORK; w++)
            sum[w] += a[row * n + k] * b[k * n + column + w * STEP];
#endif
    for (int w = 0; w < WORK; w++)
        c[row * n + column + w * STEP] = sum[w];
}
