/* SPDX-License-Identifier: BSD-2-Clause */
/* The two kernels of the write-up on local memory, with single costs taken out of one and put into the other.
 * RGB, sums in int, pixels whose mask leaves the picture become 0: as there. */
#define SUB  16
#define MASK 5
#define HALF (MASK / 2)

__constant float mask[MASK * MASK] = {0,  -1, 1,  -1, 0,  -1, 2,  -2, 2,  -1, 1,  -2, 5,
                                      -2, 1,  -1, 2,  -2, 2,  -1, 0,  -1, 1,  -1, 0};

inline uchar narrow(int sum)
{
    return (uchar)clamp(sum, 0, 255);
}

inline bool outside(int x, int y, int width, int height)
{
    return x < HALF || y < HALF || x >= width - HALF || y >= height - HALF;
}

inline void put(__global uchar *out, int at, int3 sum)
{
    out[at] = narrow(sum.x);
    out[at + 1] = narrow(sum.y);
    out[at + 2] = narrow(sum.z);
}

/* `with_tests`: makes the four comparisons of the other kernel, and reads the same pixel whatever they
 * say. */
inline int3 sum_global(__global const uchar *in, int x, int y, int width, bool with_tests, int lx, int ly,
                       int step)
{
    int3 sum = (int3)(0);
    for (int k = 0; k < MASK; k++)
        for (int l = 0; l < MASK; l++) {
            const float weight = mask[(MASK - 1 - k) + (MASK - 1 - l) * MASK];
            const int mx = lx - HALF + k, my = ly - HALF + l;
            int at = ((y - HALF + l) * width + x - HALF + k) * 3;
            if (with_tests && !(mx >= 0 && mx < SUB && my >= 0 && my < SUB))
                at += step; /* 0, which no compiler knows */
            sum.x += in[at] * weight;
            sum.y += in[at + 1] * weight;
            sum.z += in[at + 2] * weight;
        }
    return sum;
}

__kernel void from_global(__global const uchar *restrict in, __global uchar *restrict out,
                          __global uchar *scratch, int width, int height, int row, int zero)
{
    const int x = get_global_id(0), y = get_global_id(1), at = (y * width + x) * 3;
#ifdef BARRIER
    __local uchar kept[1];
    if (get_local_id(0) + get_local_id(1) == 0)
        kept[0] = zero;
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
#ifdef TESTS
    const bool tests = true;
#else
    const bool tests = false;
#endif
    if (x >= width || y >= height)
        return;
    if (outside(x, y, width, height))
        put(out, at, (int3)(0));
    else
        put(out, at, sum_global(in, x, y, width, tests, get_local_id(0), get_local_id(1), zero));
}

/* As written; without TESTS a pixel that the work-group did not load is taken from its other side. */
__kernel void cached(__global const uchar *restrict in, __global uchar *restrict out, __global uchar *scratch,
                     int width, int height, int row, int zero)
{
    __local uchar sub[SUB][SUB][4];
    const int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    const int at = (min(y, height - 1) * width + min(x, width - 1)) * 3;
    sub[ly][lx][0] = in[at];
    sub[ly][lx][1] = in[at + 1];
    sub[ly][lx][2] = in[at + 2];
#ifdef BARRIER
    barrier(CLK_LOCAL_MEM_FENCE);
#endif
    if (x >= width || y >= height)
        return;
    int3 sum = (int3)(0);
    if (outside(x, y, width, height)) {
        put(out, at, sum);
        return;
    }
    for (int k = 0; k < MASK; k++)
        for (int l = 0; l < MASK; l++) {
            const float weight = mask[(MASK - 1 - k) + (MASK - 1 - l) * MASK];
            const int mx = lx - HALF + k, my = ly - HALF + l;
#ifdef TESTS
            if (!(mx >= 0 && mx < SUB && my >= 0 && my < SUB)) {
                const int far = ((y - HALF + l) * width + x - HALF + k) * 3;
                sum.x += in[far] * weight;
                sum.y += in[far + 1] * weight;
                sum.z += in[far + 2] * weight;
                continue;
            }
#endif
            __local const uchar *pixel = sub[my & (SUB - 1)][mx & (SUB - 1)];
            sum.x += pixel[0] * weight;
            sum.y += pixel[1] * weight;
            sum.z += pixel[2] * weight;
        }
    put(out, at, sum);
}

/* What the work-group needs is in local memory, margins too: no tests. */
__kernel void with_halo(__global const uchar *restrict in, __global uchar *restrict out,
                        __global uchar *scratch, int width, int height, int row, int zero)
{
    __local uchar sub[SUB + 2 * HALF][SUB + 2 * HALF][4];
    const int x = get_global_id(0), y = get_global_id(1), lx = get_local_id(0), ly = get_local_id(1);
    for (int ty = ly; ty < SUB + 2 * HALF; ty += SUB)
        for (int tx = lx; tx < SUB + 2 * HALF; tx += SUB) {
            const int from =
                (clamp(y - ly + ty - HALF, 0, height - 1) * width + clamp(x - lx + tx - HALF, 0, width - 1)) *
                3;
            sub[ty][tx][0] = in[from];
            sub[ty][tx][1] = in[from + 1];
            sub[ty][tx][2] = in[from + 2];
        }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= width || y >= height)
        return;
    int3 sum = (int3)(0);
    if (!outside(x, y, width, height))
        for (int k = 0; k < MASK; k++)
            for (int l = 0; l < MASK; l++) {
                const float weight = mask[(MASK - 1 - k) + (MASK - 1 - l) * MASK];
                sum.x += sub[ly + l][lx + k][0] * weight;
                sum.y += sub[ly + l][lx + k][1] * weight;
                sum.z += sub[ly + l][lx + k][2] * weight;
            }
    put(out, (y * width + x) * 3, sum);
}
