// SPDX-License-Identifier: BSD-2-Clause
//@filter summary moves red and blue apart towards the corners, or together: chromatic aberration
//@filter param red real -16..16 = 2 pixels: how far red moves at the farthest corner, outwards
//@filter param blue real -16..16 = -2 pixels: how far blue does
//@filter window max(red, blue)
//@filter channels 3 4

hone_pixel
{
    float2 centre = 0.5f * (float2)((float)hone_width, (float)hone_height);
    float2 away = (float2)((float)hone_x + 0.5f, (float)hone_y + 0.5f) - centre;
    float2 part = away / length(centre);
    float4 here = hone_in(0, 0);
    here.x = hone_sample(-red * part.x, -red * part.y).x;
    here.z = hone_sample(-blue * part.x, -blue * part.y).z;
    return here;
}
