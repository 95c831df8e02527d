// SPDX-License-Identifier: BSD-2-Clause
//@filter summary adds film grain, strongest in the mid-tones
//@filter param strength real 0..1 = 0.06: of the noise, as part of the full range
//@filter param size int 1..8 = 1 pixels: of a grain
//@filter param seed int 0..1000000 = 1: another one gives other grains
//@filter param mode choice gray|colour = gray: the same noise for all channels, or one for each

// A number from -1 to 1 that looks random (after "lowbias32", Chris Wellons).
inline float noise(uint x, uint y, uint n)
{
    uint h = x * 0x9e3779b1u ^ y * 0x85ebca77u ^ n * 0xc2b2ae3du;
    h = (h ^ h >> 16) * 0x7feb352du;
    h = (h ^ h >> 15) * 0x846ca68bu;
    return (float)((h ^ h >> 16) >> 8) * (2.0f / 16777215.0f) - 1.0f;
}

hone_pixel
{
    float4 here = hone_in(0, 0);
    uint x = hone_x / size, y = hone_y / size, n = 3 * seed;
    float first = noise(x, y, n);
    float4 all = (float4)(first, first, first, 0.0f);
    if (mode == mode_colour)
        all = (float4)(first, noise(x, y, n + 1), noise(x, y, n + 2), 0.0f);
    float4 tone = clamp(here, 0.0f, 1.0f);
    return here + strength * all * 4.0f * tone * (1.0f - tone);
}
