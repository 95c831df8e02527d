/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernels of the play filter "blur3": the mean of three pixels in a row, rounded half up. One is right; each
 * of the others has one fault, which its name tells. tests/broken/broken.c says which check must find it. */
#if FLOATING
#define SUM float
#else
#define SUM int
#endif

inline RESULT mean3(SUM a, SUM b, SUM c)
{
#if FLOATING
    return (a + b + c) / 3.0f;
#else
    return (RESULT)((a + b + c + 1) / 3);
#endif
}

#define PARAMETERS                                                                                           \
    __global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out, int out_offset,             \
        int out_pitch, int width, int height, BORDER_TYPE border

/* Where a work-item is; those beyond the picture have nothing to do. */
#define BEGIN                                                                                                \
    int x = get_global_id(0), y = get_global_id(1);                                                          \
    if (x >= width || y >= height)                                                                           \
        return;                                                                                              \
    __global const PIXEL *row = in + in_offset + y * in_pitch;                                               \
    __global RESULT *result = out + out_offset + y * out_pitch;

#define AT(i) hone_at(row, 1, (i), channel, width, border)
#define ZERO  (HONE_BORDER == BORDER_ZERO_OUTSIDE && !IS_ALPHA(channel) && (x < 1 || x + 1 >= width))
#define VALUE                                                                                                \
    (IS_ALPHA(channel) ? (RESULT)row[x * HONE_C + channel]                                                   \
     : ZERO            ? (RESULT)0                                                                           \
                       : mean3(AT(x - 1), AT(x), AT(x + 1)))
#define EACH_CHANNEL for (int channel = 0; channel < HONE_C; channel++)

#ifdef VARIANT_right
__kernel void blur3_right(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_border
__kernel void blur3_border(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL
    {
        int left = clamp(x - 1, 0, width - 1),
            right = clamp(x + 1, 0, width - 1); /* replicate, whatever is asked for */
        RESULT value =
            mean3(row[left * HONE_C + channel], row[x * HONE_C + channel], row[right * HONE_C + channel]);
        result[x * HONE_C + channel] = IS_ALPHA(channel) || ZERO ? VALUE : value;
    }
}
#endif

#ifdef VARIANT_column
__kernel void blur3_column(PARAMETERS)
{
    BEGIN
    if (x == width - 1 && x > 0)
        x--; /* the last column is computed one to the left... */
    EACH_CHANNEL
    {
        RESULT value = VALUE;
        result[x * HONE_C + channel] = value;
        if (x == width - 2)
            result[(x + 1) * HONE_C + channel] = value; /* ...and stored where it belongs */
    }
}
#endif

#ifdef VARIANT_unwritten
__kernel void blur3_unwritten(PARAMETERS)
{
    BEGIN
    if (x == width - 1 && width % 16 == 1)
        return;
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_stale
__kernel void blur3_stale(PARAMETERS, __global const float *sums)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE + (sums[y * width + x] > 1.0f); /* nobody wrote it */
}
#endif

#ifdef VARIANT_overrun
__kernel void blur3_overrun(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
    if (x == width - 1)
        result[width * HONE_C] = 7; /* into the padding of the row */
}
#endif

#ifdef VARIANT_read_before
__kernel void blur3_read_before(PARAMETERS)
{
    BEGIN
    /* Reads before the first row and does not let it count: the result is right. */
    volatile PIXEL unused = ((volatile __global const PIXEL *)in)[in_offset - 1 - x * 64];
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_read_behind
__kernel void blur3_read_behind(PARAMETERS)
{
    BEGIN
    volatile PIXEL unused = ((volatile __global const PIXEL *)in)[in_offset + height * in_pitch + 128 + x];
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_write_behind
__kernel void blur3_write_behind(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
    if (x == width - 1 && y == height - 1)
        result[out_pitch + 128] = 7;
}
#endif

#ifdef VARIANT_write_slack
__kernel void blur3_write_slack(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
    if (x == width - 1 && y == height - 1)
        result[width * HONE_C] = 7; /* directly behind the last pixel */
}
#endif

#ifdef VARIANT_race
__kernel void blur3_race(PARAMETERS, __local int *shared)
{
    int column = get_local_id(0);
    shared[column] = get_global_id(0);
    /* A barrier is missing here. */
    int neighbour = shared[get_local_size(0) - 1 - column];
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = neighbour == -12345 ? (RESULT)1 : VALUE;
}
#endif

#ifdef VARIANT_uninitialised
__kernel void blur3_uninitialised(PARAMETERS, __local int *shared)
{
    int stale = shared[get_local_id(0)]; /* nobody wrote it */
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = stale == -1234567 ? (RESULT)1 : VALUE;
}
#endif

#ifdef VARIANT_nan
__kernel void blur3_nan(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL
    {
        RESULT value = VALUE;
#if FLOATING
        if (isnan(value))
            value = 0;
#endif
        result[x * HONE_C + channel] = value;
    }
}
#endif

#ifdef VARIANT_rounding
__kernel void blur3_rounding(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL
    {
#if FLOATING
        result[x * HONE_C + channel] = VALUE;
#else
        RESULT cut = (RESULT)((AT(x - 1) + AT(x) + AT(x + 1)) / 3);
        result[x * HONE_C + channel] = IS_ALPHA(channel) || ZERO ? VALUE : cut;
#endif
    }
}
#endif

#ifdef VARIANT_half_covered
/* The description says that each work-item does two pixels; it does one. */
__kernel void blur3_half_covered(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_arguments
__kernel void blur3_arguments(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_kinds
__kernel void blur3_kinds(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                          int out_offset, int out_pitch, int width, float height_as_float, BORDER_TYPE border)
{
    int height = as_int(height_as_float);
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif

#ifdef VARIANT_defaults
#ifndef ROWS
#define ROWS 2 /* the description says 1 */
#endif
__kernel void blur3_defaults(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = ROWS > 0 ? VALUE : (RESULT)0;
}
#endif

#ifdef VARIANT_unguarded
__kernel void blur3_unguarded(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = LINES > 0 ? VALUE : (RESULT)0;
}
#endif

#ifdef VARIANT_divergent
__kernel void blur3_divergent(PARAMETERS, __local int *shared)
{
    BEGIN
    shared[get_local_id(0)] = x;
    barrier(CLK_LOCAL_MEM_FENCE); /* those beyond the picture never get here */
    EACH_CHANNEL result[x * HONE_C + channel] = shared[get_local_id(0)] == x ? VALUE : (RESULT)0;
}
#endif

#ifdef VARIANT_compiled_in
#ifndef WEIGHT
#define WEIGHT 1
#endif
__kernel void blur3_compiled_in(PARAMETERS)
{
    BEGIN
    EACH_CHANNEL result[x * HONE_C + channel] = WEIGHT > 0 ? VALUE : (RESULT)0;
}
#endif

#ifdef VARIANT_aligned
typedef uchar aligned16 __attribute__((ext_vector_type(16), aligned(16)));
/* Reads sixteen bytes at once from where rows begin, as if they began at multiples of sixteen. */
__kernel void blur3_aligned(PARAMETERS)
{
    BEGIN
    int bytes = width * HONE_C * (int)sizeof(PIXEL);
    volatile aligned16 first = (aligned16)0;
    if (x == 0 && bytes >= 16)
        first = *(__global const aligned16 *)row;
    EACH_CHANNEL result[x * HONE_C + channel] = VALUE;
}
#endif
