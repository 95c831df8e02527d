/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel of the write-up on registers: the sum of a window from four corners of an integral image, 8 at
 * once. */
#define WINDOW    32
#define THRESHOLD 20000

__kernel void corners(__global const ushort *restrict in, __global ushort *restrict out,
                      __global ushort *scratch, int width, int height, int row, int unused)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x * 8 >= width || y >= height)
        return;
    __global const ushort *a1 = in + y * width, *a2 = a1 + WINDOW, *a3 = a1 + WINDOW * width,
                          *a4 = a3 + WINDOW;
#if FORM == 0
    const ushort8 sum = vload8(x, a4) + vload8(x, a1) - vload8(x, a2) - vload8(x, a3);
#else
    ushort8 sum;
#if FORM == 1
    sum = 0;
    sum -= sum, sum += vload8(x, a4), sum += vload8(x, a1), sum -= vload8(x, a2), sum -= vload8(x, a3);
#elif FORM == 2
    sum = 0, sum += vload8(x, a4), sum += vload8(x, a1), sum -= vload8(x, a2), sum -= vload8(x, a3);
#else
    sum = vload8(x, a4);
    sum += vload8(x, a1);
    sum -= vload8(x, a2);
    sum -= vload8(x, a3);
#endif
#endif
    vstore8(select((ushort8)(0), sum, (short8)(sum >= (ushort8)(THRESHOLD))), x, out + y * width);
}
