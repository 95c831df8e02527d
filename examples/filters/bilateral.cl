// SPDX-License-Identifier: BSD-2-Clause
//@filter summary smooths and keeps edges: a mean, weighted by distance and by likeness of colour
//@filter param radius int 1..16 = 3 pixels: half the window
//@filter param sigma real 0.3..20 = 2 pixels: of the weights by distance
//@filter param range real 0.001..10 = 0.1: of the weights by colour; 1 is the full range
//@filter window radius

hone_pixel
{
    float4 here = hone_in(0, 0), sum = 0.0f;
    float weights = 0.0f;
    float near = 0.5f / (sigma * sigma), like = 0.5f / (range * range);
    for (int dy = -radius; dy <= radius; dy++)
        for (int dx = -radius; dx <= radius; dx++) {
            float4 there = hone_in(dx, dy);
            float3 apart = there.xyz - here.xyz;
            float weight = exp(-near * (float)(dx * dx + dy * dy) - like * dot(apart, apart));
            sum += weight * there;
            weights += weight;
        }
    return sum / weights;
}
