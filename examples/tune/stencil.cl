/* SPDX-License-Identifier: BSD-2-Clause */
/* A 5-point stencil: one step of heat flowing through a plate whose edge keeps its temperature. */
//@tune param VEC=1,2,4,8
//@tune param LX=8,16,32,64
//@tune param LY=1,2,4,8
//@tune restrict LX*LY<=256
//@tune define W=1024
//@tune define H=1024
//@tune global roundup(ceildiv(W,VEC),LX),roundup(H,LY)
//@tune local LX,LY
//@tune arg random:f32:W*H
//@tune arg out:f32:W*H
//@tune arg int:W
//@tune arg int:H
//@tune arg float:0.2
//@tune bytes 8*W*H
//@tune flops 6*W*H
#ifndef VEC
#define VEC 1 /* neighbouring cells of a row per work-item */
#endif

kernel void heat(global const float *from, global float *to, int width, int height, float rate)
{
    int y = get_global_id(1);
    if (y >= height)
        return;
    for (int i = 0; i < VEC; i++) {
        int x = get_global_id(0) * VEC + i;
        if (x >= width)
            return;
        int at = y * width + x;
        float here = from[at];
        if (x == 0 || y == 0 || x == width - 1 || y == height - 1)
            to[at] = here;
        else
            to[at] = here +
                     rate * (from[at - 1] + from[at + 1] + from[at - width] + from[at + width] - 4.0f * here);
    }
}
