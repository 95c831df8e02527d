/* SPDX-License-Identifier: BSD-2-Clause */
/* As much arithmetic for each pixel as is asked for, from row `row` on. */
__kernel void rounds(__global const uchar *restrict in, __global uint *restrict out, __global uchar *scratch,
                     int width, int height, int row, int count)
{
    const int x = get_global_id(0), y = row + (int)get_global_id(1);
    if (x >= width || y >= height)
        return;
    uint v = in[y * width + x];
    for (int k = 0; k < count; k++)
        v = v * 1664525u + 1013904223u;
    out[y * width + x] = v;
}
