/* SPDX-License-Identifier: BSD-2-Clause */
/* Does not compile: line 6. */
__kernel void blur3_syntax(__global const PIXEL *in, int in_offset, int in_pitch, __global RESULT *out,
                           int out_offset, int out_pitch, int width, int height, BORDER_TYPE border)
{
    out[0] = no_such_name;
}
