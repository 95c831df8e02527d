/* SPDX-License-Identifier: BSD-2-Clause */
/* The forward pass of the recursive Gaussian, as the write-up on it has it, and as its reader proposes. The
 * backward pass is the same from the other end. */
#define A ((float4)(0.025f, 0.0175f, 0.0125f, 0.0075f))
#define C ((float4)(-2.0f, 1.5f, -0.5f, 0.0625f))

#define ARGUMENTS(type)                                                                                      \
    (__global const type *restrict in, __global type *restrict out, __global float *scratch, int width,      \
     int height, int row, int unused)

/* One step of a scalar recursion. */
#define STEP(value)                                                                                          \
    {                                                                                                        \
        const float now = (value);                                                                           \
        const float made =                                                                                   \
            A.x * now + A.y * i1 + A.z * i2 + A.w * i3 - C.x * o1 - C.y * o2 - C.z * o3 - C.w * o4;          \
        i3 = i2;                                                                                             \
        i2 = i1;                                                                                             \
        i1 = now;                                                                                            \
        o4 = o3;                                                                                             \
        o3 = o2;                                                                                             \
        o2 = o1;                                                                                             \
        o1 = made;                                                                                           \
    }

__kernel void rows ARGUMENTS(float)
{
    const int y = get_global_id(0);
    if (y >= height)
        return;
    float i1 = 0, i2 = 0, i3 = 0, o1 = 0, o2 = 0, o3 = 0, o4 = 0;
    for (int x = 0; x < width; x++) {
        STEP(in[x + y * width])
        out[x + y * width] = o1;
    }
}

/* Four pixels at a time are loaded and stored; the arithmetic stays as it was. */
__kernel void rows_loads ARGUMENTS(float4)
{
    const int y = get_global_id(0), quads = width / 4;
    if (y >= height)
        return;
    float i1 = 0, i2 = 0, i3 = 0, o1 = 0, o2 = 0, o3 = 0, o4 = 0;
    for (int x = 0; x < quads; x++) {
        const float4 four = in[x + y * quads];
        float4 made;
        STEP(four.x)
        made.x = o1;
        STEP(four.y)
        made.y = o1;
        STEP(four.z)
        made.z = o1;
        STEP(four.w)
        made.w = o1;
        out[x + y * quads] = made;
    }
}

#define DOT_STEP(lane)                                                                                       \
    i = (float4)(four.lane, i.xyz);                                                                          \
    made.lane = dot(A, i) - dot(C, o);                                                                       \
    o = (float4)(made.lane, o.xyz);

/* The reader's proposal: dot products beside that. */
__kernel void rows_dot ARGUMENTS(float4)
{
    const int y = get_global_id(0), quads = width / 4;
    if (y >= height)
        return;
    float4 i = 0, o = 0;
    for (int x = 0; x < quads; x++) {
        const float4 four = in[x + y * quads];
        float4 made;
        DOT_STEP(x)
        DOT_STEP(y)
        DOT_STEP(z)
        DOT_STEP(w)
        out[x + y * quads] = made;
    }
}

__kernel void columns ARGUMENTS(float)
{
    const int x = get_global_id(0);
    if (x >= width)
        return;
    float i1 = 0, i2 = 0, i3 = 0, o1 = 0, o2 = 0, o3 = 0, o4 = 0;
    for (int y = 0; y < height; y++) {
        STEP(in[x + y * width])
        out[x + y * width] = o1;
    }
}

/* Four neighbouring columns: what a vector type is made for. */
__kernel void columns_vector ARGUMENTS(float4)
{
    const int x = get_global_id(0), quads = width / 4;
    if (x >= quads)
        return;
    float4 i1 = 0, i2 = 0, i3 = 0, o1 = 0, o2 = 0, o3 = 0, o4 = 0;
    for (int y = 0; y < height; y++) {
        const float4 now = in[x + y * quads];
        const float4 made =
            A.x * now + A.y * i1 + A.z * i2 + A.w * i3 - C.x * o1 - C.y * o2 - C.z * o3 - C.w * o4;
        i3 = i2;
        i2 = i1;
        i1 = now;
        o4 = o3;
        o3 = o2;
        o2 = o1;
        o1 = made;
        out[x + y * quads] = made;
    }
}
