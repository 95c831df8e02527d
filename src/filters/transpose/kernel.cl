/* SPDX-License-Identifier: BSD-2-Clause */
/* Width and height are the input's; the result has height x width pixels. */
#ifndef TILE
#define TILE 32 /* pixels across and down a tile */
#endif
#ifndef LINES
#define LINES 8 /* rows of a tile that a work-group moves at a time: its height */
#endif
#ifndef PLACE
#define PLACE 1 /* of a pixel in the tile: 0 plain, 1 rows one pixel longer, 2 swizzled */
#endif

/* A whole pixel. Images may begin at any element: vloadn and vstoren ask for no more. */
#if HONE_C == 1
typedef PIXEL cell;
#define LOAD_CELL(p)     (*(p))
#define STORE_CELL(v, p) (*(p) = (v))
#else
typedef VECTOR(PIXEL, HONE_C) cell;
#define LOAD_CELL(p)     PASTE(vload, HONE_C)(0, p)
#define STORE_CELL(v, p) PASTE(vstore, HONE_C)(v, 0, p)
#endif

#if defined(HONE_ALL) || defined(VARIANT_naive)
/* Neighbouring work-items read neighbours and write a whole row of the result apart. */
__kernel void transpose_naive(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                              int out_offset, int out_pitch, int width, int height)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;
    STORE_CELL(LOAD_CELL(in + in_offset + y * in_pitch + x * HONE_C),
               out + out_offset + x * out_pitch + y * HONE_C);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_image)
/* The texture unit keeps its pixels in tiles of its own, so that reading down a column is no worse than along
 * a row. */
__kernel void transpose_image(__read_only image2d_t in, __global RESULT *out, int out_offset, int out_pitch,
                              sampler_t edge, int width, int height)
{
    int x = get_global_id(1), y = get_global_id(0);
    if (x >= width || y >= height)
        return;
    uint4 texel = read_imageui(in, edge, (int2)(x, y));
    out += out_offset + x * out_pitch + y * HONE_C;
    out[0] = (RESULT)texel.x;
#if HONE_C > 1
    out[1] = (RESULT)texel.y;
#endif
#if HONE_C > 2
    out[2] = (RESULT)texel.z;
    out[3] = (RESULT)texel.w;
#endif
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_local)
/*
 * The write-up's transposeL: a work-group of 16x16 reads a block into local memory, turned, and writes it,
 * each half of the way along rows. Its one step was taken for images of whole blocks; here the edges are
 * checked.
 */
#define SIDE 16
__kernel void transpose_local(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                              int out_offset, int out_pitch, int width, int height)
{
    __local cell aux[SIDE * SIDE];
    int bx = get_group_id(0) * SIDE, by = get_group_id(1) * SIDE, ix = get_local_id(0), iy = get_local_id(1);
    if (bx + ix < width && by + iy < height)
        aux[iy + ix * SIDE] = LOAD_CELL(in + in_offset + (by + iy) * in_pitch + (bx + ix) * HONE_C);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (bx + iy < width && by + ix < height)
        STORE_CELL(aux[ix + iy * SIDE], out + out_offset + (bx + iy) * out_pitch + (by + ix) * HONE_C);
}
#endif

#if defined(HONE_ALL) || defined(VARIANT_tiles)
/*
 * Memory banks serve one word each at a time. In a plain tile a column lies in one bank; one pixel more in
 * each row, or columns renamed by an exclusive or with the row, spread it over all.
 */
#if PLACE == 2
#define AT(row, column) ((row)*TILE + ((column) ^ (row)))
#else
#define AT(row, column) ((row) * (TILE + PLACE) + (column))
#endif

__kernel void transpose_tiles(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                              int out_offset, int out_pitch, int width, int height, __local cell *tile)
{
    int x0 = get_group_id(0) * TILE, y0 = get_group_id(1) * TILE, i = get_local_id(0),
        first = get_local_id(1);
    in += in_offset + y0 * in_pitch + (x0 + i) * HONE_C;
    for (int j = first; j < TILE; j += LINES)
        if (x0 + i < width && y0 + j < height)
            tile[AT(j, i)] = LOAD_CELL(in + j * in_pitch);
    barrier(CLK_LOCAL_MEM_FENCE);
    out += out_offset + x0 * out_pitch + (y0 + i) * HONE_C;
    for (int j = first; j < TILE; j += LINES)
        if (y0 + i < height && x0 + j < width)
            STORE_CELL(tile[AT(i, j)], out + j * out_pitch);
}
#endif
