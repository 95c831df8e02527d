/* SPDX-License-Identifier: BSD-2-Clause */
/* Little work on much memory: what is around it counts. */
__kernel void invert(__global const uchar *restrict in, __global uchar *restrict out, int count)
{
    const int i = get_global_id(0);
    if (i < count)
        vstore16((uchar16)(255) - vload16(i, in), i, out);
}
