/* SPDX-License-Identifier: BSD-2-Clause */
/* The same curve by the functions of each kind (guide 8.3). */
#if FORM == 0
#define EXP        exp
#define LOG        log
#define SIN        sin
#define SQRT       sqrt
#define POWER      pow
#define OVER(a, b) ((a) / (b))
#elif FORM == 1
#define EXP        native_exp
#define LOG        native_log
#define SIN        native_sin
#define SQRT       native_sqrt
#define POWER      native_powr
#define OVER(a, b) native_divide(a, b)
#else
#define EXP        half_exp
#define LOG        half_log
#define SIN        half_sin
#define SQRT       half_sqrt
#define POWER      half_powr
#define OVER(a, b) half_divide(a, b)
#endif

__kernel void curve(__global const float *restrict in, __global float *restrict out, __global float *scratch,
                    int width, int height, int row, int unused)
{
    const int x = get_global_id(0), y = get_global_id(1), at = y * width + x;
    if (x >= width || y >= height)
        return;
    const float v = in[at] + 0.125f;
    out[at] = EXP(-v * v) + LOG(v) + SIN(6.0f * v) + SQRT(v) + POWER(v, 2.2f) + OVER(v, v + 3.0f);
}
