/* SPDX-License-Identifier: BSD-2-Clause */
/* Weighted sums of 5x5 floats with a division for each: what a compiler may shorten where it is allowed to
 * (guide 8.2). */
#define RADIUS 2
#define SIDE   5

__kernel void sums(__global const float *restrict in, __global float *restrict out, __global float *scratch,
                   int width, int height, int row, int unused)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    float sum = 0.0f, total = 0.0f;
    for (int l = -RADIUS; l <= RADIUS; l++)
        for (int k = -RADIUS; k <= RADIUS; k++) {
            const float weight = 1.0f / (1.0f + (float)(k * k + l * l));
            const float v = in[clamp(y + l, 0, height - 1) * width + clamp(x + k, 0, width - 1)];
            sum += weight * v / (1.0f + v);
            total += weight;
        }
    out[y * width + x] = sum / total;
}
