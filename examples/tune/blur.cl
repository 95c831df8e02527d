/* SPDX-License-Identifier: BSD-2-Clause */
/* A Gaussian blur of 3x3 pixels through the texture hardware: an image object, a sampler that repeats the
 * edge, and VEC pixels of a row per work-item. */
//@tune param VEC=1,2,4
//@tune param TILE=8,16,32
//@tune param ROWS=4,2,8
//@tune restrict TILE*ROWS<=256
//@tune arg image:random:u8:1:W:H
//@tune arg sampler:nearest,edge
//@tune arg out:u8:W*H
//@tune arg int:W
//@tune arg int:H
//@tune define W=640
//@tune define H=480
//@tune global roundup(ceildiv(W,VEC),TILE),roundup(H,ROWS)
//@tune local TILE,ROWS
#ifndef VEC
#define VEC 1 /* pixels per work-item */
#endif

kernel void blur(read_only image2d_t in, sampler_t edge, global uchar *out, int width, int height)
{
    int y = get_global_id(1);
    for (int i = 0; i < VEC; i++) {
        int x = get_global_id(0) * VEC + i;
        uint sum = 8; /* half of 16, so that the result is rounded */
        for (int dy = -1; dy <= 1; dy++)
            for (int dx = -1; dx <= 1; dx++)
                sum += read_imageui(in, edge, (int2)(x + dx, y + dy)).x * (2 - abs(dx)) * (2 - abs(dy));
        if (x < width && y < height)
            out[y * width + x] = sum / 16;
    }
}
